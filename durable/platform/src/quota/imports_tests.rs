//! A conversation that a client brings counts as an upload, together with the turn that it begins. Issue 46, L6.

use serde_json::json;

use super::tests::{Memory, NOW, ask, quotas};
use super::*;

/// A turn of ada whose new thread begins with so many bytes.
fn importing(limits: &Quotas, thread: &str, bytes: u64) -> Ask {
    let import = Some(Import { rules: limits.upload_rules("key:ada", false, None), bytes });
    Ask { import, ..ask(limits, thread, thread) }
}

/// Whether an upload of so many bytes has room.
fn has_room(shelf: &mut Memory, limits: &Quotas, bytes: u64) -> bool {
    let rules = limits.upload_rules("key:ada", false, None);
    let ask = UploadAsk { key: "probe".to_owned(), rules, need: Stored { bytes, embeddings: 0 } };
    let has_room = reserve_upload(shelf, &ask, NOW).unwrap().is_ok();
    settle_upload(shelf, "probe", Stored::default(), NOW).unwrap();
    has_room
}

#[test]
fn each_round_counts_as_an_upload() {
    let bytes =
        |texts: &[&str]| Import::bytes_of(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let long = "ä".repeat(LEAST_BYTES as usize / 2);
    assert_eq!(bytes(&[]), 0);
    assert_eq!(bytes(&["q", "a"]), LEAST_BYTES);
    assert_eq!(bytes(&["q", "a", "", ""]), 2 * LEAST_BYTES);
    assert_eq!(bytes(&[&long, ""]), LEAST_BYTES, "at the least");
    assert_eq!(bytes(&[&long, "a", "q", "a"]), 2 * LEAST_BYTES + 1, "just beyond it");
}

#[test]
fn conversations_and_uploads_share_the_bytes_of_a_day() {
    let limits = quotas(json!({ "user": { "stored_bytes_per_day": 100 } }));
    let mut shelf = Memory::default();
    assert!(has_room(&mut shelf, &limits, 100));
    assert!(shelf.admit(&importing(&limits, "a", 60), NOW).is_ok());
    assert!(shelf.admit(&importing(&limits, "a", 60), NOW).is_ok(), "the answer was lost: it counts once");
    assert!(!has_room(&mut shelf, &limits, 41));
    let refused = shelf.admit(&importing(&limits, "b", 41), NOW);
    assert!(matches!(refused, Err(Refusal::Stored { limit: 100, .. })), "{refused:?}");
    assert!(shelf.admit(&importing(&limits, "c", 40), NOW).is_ok(), "at the limit");
    assert!(shelf.admit(&importing(&limits, "d", 1), NOW).is_err(), "just beyond it");
    // A turn without a conversation starts, and the end of a turn gives no bytes back.
    assert!(shelf.admit(&ask(&limits, "e", "e"), NOW).is_ok());
    shelf.settle(&importing(&limits, "a", 60).turn, 5, NOW);
    assert!(!has_room(&mut shelf, &limits, 1));
}

#[test]
fn a_turn_that_does_not_start_gives_the_bytes_of_its_conversation_back() {
    let limits = quotas(json!({
        "user": { "stored_bytes_per_day": 100 }, "tenant": { "stored_bytes_per_day": 100 },
    }));
    let mut shelf = Memory::default();
    let asked = importing(&limits, "a", 100);
    assert!(shelf.admit(&asked, NOW).is_ok());
    assert!(!has_room(&mut shelf, &limits, 1));
    for _ in 0..2 {
        release(&mut shelf, &asked.turn, NOW).unwrap();
    }
    assert!(has_room(&mut shelf, &limits, 100));
    assert!(!has_room(&mut shelf, &limits, 101), "twice is once");
}

#[test]
fn a_refused_conversation_takes_nothing() {
    let limits = quotas(json!({
        "user": { "stored_bytes_per_day": 100, "concurrent_turns": 1, "tokens_per_day": 1_000 },
        "threads_per_user": 1,
    }));
    let mut shelf = Memory::default();
    assert!(matches!(shelf.admit(&importing(&limits, "a", 101), NOW), Err(Refusal::Stored { .. })));
    let grant = shelf.admit(&importing(&limits, "b", 100), NOW).unwrap();
    assert_eq!(grant.tokens, Some(250), "neither its place, its thread nor its tokens were taken");
}

// No end of a turn comes where only uploads are limited, so a lease that waits for one would stay for days.
#[test]
fn a_lease_of_an_import_alone_ends_with_its_turn() {
    for (quota, kept_ms) in [
        (json!({ "stored_bytes_per_day": 100 }), 0),
        (json!({ "stored_bytes_per_day": 100, "turns_per_minute": 1 }), 2 * super::ledger::DAY_MS),
    ] {
        let asked = importing(&quotas(json!({ "user": quota })), "a", 60);
        let mut shelf = Memory::default();
        assert!(shelf.admit(&asked, NOW).is_ok());
        let lease = shelf.0.iter().find(|(key, _)| key.starts_with("lease:"));
        assert_eq!(lease.map(|(_, (_, until))| *until), Some(NOW + asked.lease_ms + kept_ms));
    }
}
