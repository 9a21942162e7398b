//! Providers that never end: they drip, so that no silence is long enough, or send as fast as the service reads. The
//! turn still ends, its connection closes, and the memory of the instance stays the same.

#![cfg(target_os = "linux")]

use espalier_test_support::case::first;
use espalier_test_support::memory::resident;
use espalier_test_support::{Case, Outcome, json, text};

/// A third of the bytes that the measured rounds send: garbage that is not collected yet, but nothing that stays.
const MOST_GROWTH: u64 = 128 << 20;
/// The wall clock of a turn in the context `project_create` at this instance.
const WALL_CLOCK_MS: u64 = 10_000;

/// Plays the model's first text, then these bytes for ever. Returns the turn's finish reason.
async fn endless(bytes: &str, every_ms: u64) -> String {
    let case = Case::new().await;
    case.script("", [text("Once").dripping(bytes, every_ms)]).await;
    let context = json!({ "kind": "thread", "context_type": "project_create" });
    let body = json!({ "content": case.said("Tell me a story", ""), "chat_context": context });
    let events = case.chat_with(&body).await;
    // The connection is closed, and the earlier text is kept.
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
    assert_eq!(case.requests("").await.requests.len(), 1);
    let said = case.stored(&events).await["content"].as_str().unwrap_or_default().to_owned();
    assert!(said.starts_with("Once"), "{said:.40}");
    assert!(events.len() < 200, "{} events", events.len());
    match events.iter().find(|event| event.kind == "budget_exceeded") {
        Some(event) => {
            assert_eq!(event.data["limit"], WALL_CLOCK_MS);
            event.text("reason").to_owned()
        }
        None => first(&events, "error").text("code").to_owned(),
    }
}

// Each byte begins a new silence, so only the turn's own clock can end it.
#[tokio::test]
async fn providers_that_drip() {
    let ended =
        futures::join!(endless(": still here\n\n", 20), endless("x", 20), endless("data: {}\n\n", 20),);
    assert_eq!(ended, ["wall_clock"; 3].map(str::to_owned).into());
}

#[tokio::test]
#[ignore = "measures the memory of the whole instance: `make e2e` runs it alone"]
async fn providers_that_flood() {
    // A line that never ends, and 128 MiB of bytes without an event, each time. The first round makes the instance as
    // large as it will be: the bytes that the platform read are garbage until it is collected.
    let kilobytes = "x".repeat(64 << 10);
    let mut before = 0;
    for round in 0..4 {
        assert_eq!(endless(&kilobytes, 0).await, "provider_protocol");
        assert_eq!(endless(&format!(": {kilobytes}\n\n"), 0).await, "provider_protocol");
        if round == 0 {
            before = resident();
            assert!(before > 0, "the processes of the instance are not found");
        }
    }
    // The instance still answers other users.
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    case.chat("Hello").await;
    let growth = resident().saturating_sub(before);
    println!("{} MB more in memory", growth >> 20);
    assert!(growth < MOST_GROWTH, "{growth} bytes more");
}
