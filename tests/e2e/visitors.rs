//! Anonymous users at the instance that limits them, and whose session secret is being replaced: four turns of all
//! visitors at a time, two turns of an address, and 20 a minute of each.
//!
//! All visitors of the instance share one account, so these tests run one after the other.

use std::time::Duration;

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, EventStream, env, json, stored, text};
use tokio::sync::Mutex;
use tokio::time::Instant;

static TURN: Mutex<()> = Mutex::const_new(());

/// A new visitor from an address. Here the client chooses this header; at the edge the platform sets it.
async fn from(address: &str) -> Client {
    Client::anonymous_at(&env("ESPALIER_VISITORS_URL")).await.with("cf-connecting-ip", address)
}

/// A case whose turns wait until the test releases the barrier.
async fn held() -> (Case, String) {
    let case = Case::of(from("192.0.2.1").await);
    let held = case.barrier("held");
    case.script("", [text("Hi.").using(1, 0, 1).waiting(&held, 0)]).await;
    (case, held)
}

/// Starts a turn of this visitor that waits. Places of the test before may not be free yet: the quotas hear of an end a
/// moment later.
async fn begin(case: &Case, visitor: &Client) -> EventStream {
    let body = json!({ "content": case.said("Hello", "") });
    let reply = stored::eventually("there is a place", || async {
        let reply = visitor.post("/api/chat", &body).await;
        (reply.status == 200).then_some(reply)
    });
    EventStream::open(reply.await).await
}

/// Checks that one is refused because of this limit.
async fn is_sent_away(case: &Case, visitor: &Client, limit: u32) {
    let body = json!({ "content": case.said("Hello", "") });
    stored::eventually("the refusal", || async {
        let reply = visitor.post("/api/chat", &body).await;
        assert_eq!((reply.status, reply.header("retry-after")), (429, "5"));
        let problem = reply.json().await;
        assert_eq!(problem["code"], "too_many_turns", "{problem}");
        (problem["detail"] == format!("{limit} turns are running")).then_some(())
    })
    .await;
}

/// Ends all these turns.
async fn release(case: Case, held: &str, running: Vec<EventStream>) {
    case.llm.release(held).await;
    for stream in running {
        stream.turn().await;
    }
}

// A session costs nothing, so a visitor with new sessions still counts as one address.
#[tokio::test]
async fn an_address_has_two_turns_for_all_its_visitors() {
    let _turn = TURN.lock().await;
    let (case, held) = held().await;
    let mut running = Vec::new();
    for _ in 0..2 {
        running.push(begin(&case, &from("198.51.100.7").await).await);
    }
    is_sent_away(&case, &from("198.51.100.7").await, 2).await;
    // The same address in another notation counts too.
    is_sent_away(&case, &from("::ffff:198.51.100.7").await, 2).await;
    running.push(begin(&case, &from("198.51.100.8").await).await);
    release(case, &held, running).await;
}

// An IPv6 customer has 2^64 addresses.
#[tokio::test]
async fn a_network_is_one_address() {
    let _turn = TURN.lock().await;
    let (case, held) = held().await;
    let mut running = Vec::new();
    for address in ["2001:db8:7:7::1", "2001:db8:7:7:ffff:ffff:ffff:ffff"] {
        running.push(begin(&case, &from(address).await).await);
    }
    is_sent_away(&case, &from("2001:db8:7:7::3").await, 2).await;
    running.push(begin(&case, &from("2001:db8:7:8::1").await).await);
    release(case, &held, running).await;
}

#[tokio::test]
async fn all_visitors_together_have_four() {
    let _turn = TURN.lock().await;
    let (case, held) = held().await;
    let mut running = Vec::new();
    for host in 1..=4 {
        running.push(begin(&case, &from(&format!("203.0.113.{host}")).await).await);
    }
    is_sent_away(&case, &from("203.0.113.5").await, 4).await;
    release(case, &held, running).await;
}

// At first as many turns start at once as a minute has, then one each three seconds, and `Retry-After` tells when.
#[tokio::test]
async fn turns_of_a_minute() {
    let _turn = TURN.lock().await;
    let case = Case::of(from("192.0.2.9").await);
    case.script("", [text("Hi.").using(1, 0, 1)]).await;
    let body = json!({ "content": case.said("Hello", "") });
    let (begun, mut started) = (Instant::now(), 0);
    let refusal = loop {
        let reply = case.client.post("/api/chat", &body).await;
        match reply.status {
            200 => {
                started += 1;
                reply.text().await;
            }
            // The quotas have not heard of an end yet: that is another limit.
            429 if reply.header("retry-after") == "5" => drop(reply.text().await),
            _ => break reply,
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{started} turns and no refusal");
    };
    let refilled = begun.elapsed().as_secs() / 3 + 1;
    assert!((20..=20 + refilled).contains(&started), "{started} turns in {:?}", begun.elapsed());
    let wait = refusal.header("retry-after").parse::<u64>().expect("seconds");
    assert!((1..=3).contains(&wait), "{wait}");
    assert_problem(refusal, 429, "rate_limited", None).await;
    // Other users are not slowed down.
    let other = from("192.0.2.10").await;
    other.post("/api/chat", &body).await.expect(200).await.text().await;
    // After that time the visitor may start a turn.
    tokio::time::sleep(Duration::from_secs(wait)).await;
    case.client.post("/api/chat", &body).await.expect(200).await.text().await;
}

// `main` has the old secret alone, `visitors` the new one and the old one.
#[tokio::test]
async fn a_new_session_secret_keeps_all_sessions() {
    let (main, visitors) = (env("ESPALIER_URL"), env("ESPALIER_VISITORS_URL"));
    let before = Client::anonymous_at(&main).await;
    let during = Client::nobody_at(&visitors).with("cookie", before.header("cookie"));
    during.get("/api/threads").await.expect(200).await;
    // A cookie of the new secret is no credential where the secret is unknown.
    let after = Client::anonymous_at(&visitors).await;
    after.get("/api/threads").await.expect(200).await;
    let foreign = Client::nobody_at(&main).with("cookie", after.header("cookie"));
    assert_problem(foreign.get("/api/threads").await, 401, "unauthenticated", None).await;
}
