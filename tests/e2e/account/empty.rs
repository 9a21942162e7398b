//! The erasure of visitors who have nothing: it makes no job, and holds up nobody. Issue 42, M4.

use std::time::Duration;

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::stored::{change_at, d1, eventually};
use espalier_test_support::{Case, Client, Value, env, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;

use super::MAIN;
use super::erasure::{Refused, ended, has_no_rows, is_erased_after, refused_thread, settle};

/// A new visitor, and their name.
async fn visitor() -> (Client, String) {
    let client = Client::anonymous().await;
    let name = name_of(&client).await;
    (client, name)
}

async fn name_of(client: &Client) -> String {
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    session["user_id"].as_str().expect("a user").to_owned()
}

async fn erase(client: &Client) -> Reply {
    let confirmed = json!({ "confirm": "erase" }).to_string();
    client.with("content-type", "application/json").send("DELETE", "/api/me", confirmed).await
}

/// The job of a visitor: whether it has ended.
async fn job(name: &str) -> Option<bool> {
    let sql = "SELECT ended_at IS NOT NULL AS has_ended FROM erasures WHERE user_id = 'anonymous:' || ?1";
    d1(sql, &[name]).await.first().map(|row| row["has_ended"] == 1)
}

#[tokio::test]
async fn a_visitor_who_has_nothing_is_answered_at_once() {
    let (client, name) = visitor().await;
    let reply = erase(&client).await.expect(202).await;
    assert!(reply.header("set-cookie").contains("Max-Age=0"), "{}", reply.header("set-cookie"));
    let erasure = reply.json().await;
    assert_eq!(erasure["ended_at"], erasure["started_at"], "{erasure}");
    assert_eq!(erasure["removed"], json!({}));
    assert_eq!(job(&name).await, Some(true), "no job is left to do");
    let receipt = erasure["receipt"].as_str().expect("a receipt");
    let anybody = Client::nobody_at(&env("ESPALIER_URL"));
    let progress = anybody.read(&format!("/api/me/erasure?receipt={receipt}")).await;
    assert_eq!(progress["ended_at"], erasure["ended_at"]);
    // The session has ended all the same, and the audit log has no deed.
    assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
    let entries = d1("SELECT 1 FROM audit WHERE user_id = 'anonymous:' || ?1", &[&name]).await;
    assert_eq!(entries, Vec::<Value>::new());
    // A request that stores nothing gives the session of a visitor no row, which would begin the job again.
    let (client, other) = visitor().await;
    client.send("DELETE", "/api/memories", "").await.expect(204).await;
    client.put("/api/me/instructions", &json!({ "content": "" })).await.expect(200).await;
    // A file alone is something.
    let (client, last) = visitor().await;
    client.send("PUT", "/api/workspaces/w/files/a", "x").await.expect(200).await;
    assert_eq!(erase(&client).await.expect(202).await.json().await["ended_at"], Value::Null);
    assert!(job(&last).await.is_some());
    assert_eq!(job(&name).await, Some(true), "still");
    let rows = d1("SELECT 1 FROM sessions WHERE user_id = 'anonymous:' || ?1", &[&other]).await;
    assert_eq!(rows, Vec::<Value>::new());
}

// The visitors' addresses are their own here: at the edge the platform sets the header.
#[tokio::test]
async fn a_network_ends_thirty_sessions_in_an_hour() {
    let from = async |address: &str| Client::anonymous().await.with("cf-connecting-ip", address);
    // The addresses of one customer.
    let network = format!("2001:db8:{:x}:1::", Uuid::new_v4().as_u128() % 0xffff);
    for number in 0..30 {
        let client = from(&format!("{network}{number:x}")).await;
        match number % 2 {
            0 => drop(erase(&client).await.expect(202).await),
            _ => drop(client.send("DELETE", "/api/session", "").await.expect(204).await),
        }
    }
    let client = from(&format!("{network}ffff")).await;
    for (reply, cookie) in
        [(erase(&client).await, false), (client.send("DELETE", "/api/session", "").await, true)]
    {
        assert_eq!(reply.header("retry-after"), "3600");
        // The browser forgets the session all the same.
        assert_eq!(reply.header("set-cookie").contains("Max-Age=0"), cookie);
        assert_problem(reply, 429, "rate_limited", None).await;
    }
    client.get("/api/threads").await.expect(200).await;
    // A session that has stored something has a row already, which its end replaces.
    client.put("/api/me/instructions", &json!({ "content": "Briefly." })).await.expect(200).await;
    let name = name_of(&client).await;
    eventually("the visitor has a row", || async {
        let rows = d1("SELECT 1 FROM sessions WHERE user_id = 'anonymous:' || ?1", &[&name]).await;
        (!rows.is_empty()).then_some(())
    })
    .await;
    client.send("DELETE", "/api/session", "").await.expect(204).await;
    // So does the erasure of somebody with data begin.
    let client = from(&format!("{network}fffe")).await;
    client.send("PUT", "/api/workspaces/w/files/a", "x").await.expect(200).await;
    assert_eq!(erase(&client).await.expect(202).await.json().await["ended_at"], Value::Null);
    erase(&from("2001:db8:1:1::1").await).await.expect(202).await;
}

// D1 hears of a thread some seconds after its beginning. Here it hears nothing, not even of the visitor's session.
#[tokio::test]
async fn a_thread_whose_rows_d1_lacks_is_found_all_the_same() {
    let case = Case::new().await;
    let Refused { user, mark, outage, .. } = refused_thread(&case).await;
    change_at(MAIN, &format!("DELETE FROM sessions WHERE user_id = '{user}'")).await;
    let erasure = erase(&case.client).await.expect(202).await.json().await;
    assert!(!erasure["ended_at"].is_null(), "nothing of the visitor is known: {erasure}");
    is_erased_after(&outage, &mark).await;
    has_no_rows(&user).await;
}

// A request that was admitted before the erasure stores something after it.
#[tokio::test]
async fn an_erasure_of_nothing_begins_again_where_the_visitor_stores_something_meanwhile() {
    let (client, name) = visitor().await;
    let (url, cookie) = (env("ESPALIER_URL"), client.header("cookie"));
    let address = url.trim_start_matches("http://");
    let body = json!({ "content": "Late." }).to_string();
    let (first, rest) = body.split_at(5);
    let head = format!(
        "PUT /api/me/instructions HTTP/1.1\r\nhost: {address}\r\norigin: {url}\r\ncookie: {cookie}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{first}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("the beginning of a request");
    // The delay is what is tested: the request is admitted, and its body is on its way for less than `BODY_MS`.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let erasure = erase(&client).await.expect(202).await.json().await;
    assert!(!erasure["ended_at"].is_null(), "{erasure}");
    stream.write_all(rest.as_bytes()).await.expect("the rest of it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert_eq!(answer.split(' ').nth(1), Some("200"), "{answer}");
    eventually("the job runs", || async { (job(&name).await == Some(false)).then_some(()) }).await;
    settle(MAIN, &format!("anonymous:{name}")).await;
    ended(&Client::nobody_at(&url), erasure["receipt"].as_str().expect("a receipt")).await;
    let left = d1("SELECT 1 FROM instructions WHERE user_id = 'anonymous:' || ?1", &[&name]).await;
    assert_eq!(left, Vec::<Value>::new());
}
