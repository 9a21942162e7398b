//! Clients by other authors, as programs use them (`tests/clients/`): Node's own `fetch`, `eventsource-parser`,
//! `@microsoft/fetch-event-source`, `eventsource` and Python's `httpx`. Each opens a session, posts a message and reads
//! the whole turn; two of them lose their connection in the middle and read on with `Last-Event-ID`. Each must have
//! read the same events as our own strict client, every event once and in order.

use std::path::Path;

use espalier_test_support::{Case, Client, Step, Value, call, deltas, env, json};
use tokio::process::Command;

/// A client's program, beside this file.
fn scripts() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients"))
}

/// Runs a client's program with these variables, and gives its report.
pub async fn report(program: &str, script: &str, variables: &[(&str, &str)]) -> Value {
    let output = Command::new(program)
        .arg(scripts().join(script))
        .envs(variables.iter().copied())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} {variables:?}: {complaint}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {complaint}"))
}

/// A client of an instance with this key.
pub fn bearer(url: &str, key: &str) -> Client {
    Client::nobody_at(url).with("authorization", &format!("Bearer {key}"))
}

/// A user with a key of an instance, and the key.
pub async fn keyed_at(url: &str) -> (Case, String) {
    let admin = bearer(url, &env("ESPALIER_ADMIN_KEY"));
    let minted = admin.post("/api/keys", &json!({ "name": "client" })).await.expect(201).await.json().await;
    let key = minted["key"].as_str().expect("a key").to_owned();
    (Case::of(bearer(url, &key)), key)
}

/// Runs a client whose model plays this step, and compares the client's events with the stored ones.
async fn reads_the_whole_turn(program: &str, script: &str, last: impl FnOnce(&str) -> Step) {
    let case = Case::new().await;
    let barrier = case.barrier("held");
    let first = call("calculate", json!({ "expression": "6*7" }));
    case.script("", [first, last(&barrier)]).await;
    let variables = [("CLIENT_CONTENT", &*case.said("What is it?", "")), ("CLIENT_BARRIER", &*barrier)];
    let report = report(program, script, &variables).await;

    let read = report["events"].as_array().expect("events");
    let client =
        Client::nobody_at(&env("ESPALIER_URL")).with("cookie", report["cookie"].as_str().expect("a cookie"));
    let thread = read[0]["thread_id"].as_str().expect("a thread");
    let stored = client.stream(thread, 0).await.expect("events").turn().await;
    let types = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| format!("{} {}", event["seq"], event["type"])).collect()
    };
    let stored: Vec<Value> = stored.into_iter().map(|event| event.data).collect();
    assert_eq!(types(read), types(&stored), "{script}");
    assert_eq!(read, &stored, "{script}");
    let has = |wanted: &str| read.iter().any(|event| event["type"] == wanted);
    assert!(
        ["session", "tool_call_update", "chunk", "cost_summary", "done"].into_iter().all(has),
        "{read:?}"
    );
}

fn at_once(_: &str) -> Step {
    deltas(["It is ", "42."])
}

/// The client releases the barrier when it has read the first half.
fn in_two_halves(barrier: &str) -> Step {
    deltas(["It is ", "42."]).waiting(barrier, 1)
}

#[tokio::test]
async fn nodes_own_fetch() {
    reads_the_whole_turn("node", "node_fetch.mjs", at_once).await;
}

#[tokio::test]
async fn eventsource_parser() {
    reads_the_whole_turn("node", "eventsource_parser.mjs", at_once).await;
}

#[tokio::test]
async fn fetch_event_source() {
    reads_the_whole_turn("node", "fetch_event_source.mjs", at_once).await;
}

#[tokio::test]
async fn eventsource_whose_line_is_cut() {
    reads_the_whole_turn("node", "eventsource.mjs", in_two_halves).await;
}

#[tokio::test]
async fn httpx_that_leaves_and_comes_back() {
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/.tools/contract/bin/python");
    assert!(Path::new(python).exists(), "{python} is missing: run `scripts/contract install`");
    reads_the_whole_turn(python, "httpx_client.py", in_two_halves).await;
}
