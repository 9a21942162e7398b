//! Text that is written before its model call has ended, because there is much of it and the live log keeps
//! all unwritten text.

use super::faults::view;
use crate::journal::TurnStop;
use crate::testing::*;
use crate::turn::announcing::{CHUNK_BYTES, UNWRITTEN_BYTES};
use wire::protocol::{ChunkKind, Event, FinishReason};

const WORD: &str = "word ";
/// The most words that are written with their call's outcome alone.
const WORDS: usize = UNWRITTEN_BYTES / (CHUNK_BYTES + WORD.len());

fn words(count: usize) -> &'static str {
    Box::leak(WORD.repeat(count).into_boxed_str())
}

fn commits(words: &'static str) -> usize {
    let case = Case::new(script(&[("go", vec![Reply::Text(words)])])).run();
    case.disk.commits.get()
}

#[test]
fn a_text_beyond_the_bound_is_written_before_its_outcome() {
    let short = commits("A word.");
    assert_eq!(commits(words(WORDS)), short);
    assert_eq!(commits(words(WORDS + 1)), short + 1);
    assert_eq!(commits(words(2 * WORDS + 1)), short + 1, "it counts anew after it was written");
    assert_eq!(commits(words(2 * WORDS + 2)), short + 2);
}

#[test]
fn the_stored_text_has_the_announced_chunks() {
    let text = words(3 * WORDS);
    let both = vec![subtask("a"), subtask("b")];
    let mut case = Case::new(script(&[
        ("go", vec![Reply::TextAndCalls("I ask. ", both), Reply::Think(words(2), text)]),
        ("a", vec![Reply::Text(text)]),
        ("b", vec![Reply::Text("Short."), Reply::Text("Short.")]),
    ]));
    case.run_with(None, |_, _| {});
    case.check();
    let stored = case.disk.events.borrow();
    assert_eq!(stored.len(), case.seen.len());
    for (seq, event) in stored.iter() {
        assert_eq!(Some(event), case.seen.get(seq), "{seq}");
    }
    let closed = |event: &&Event| matches!(event, Event::Chunk { done: true, .. });
    assert_eq!(stored.values().filter(closed).count(), 5, "each part is closed once");
    assert!(case.end().message.content.ends_with(text));
}

#[test]
fn a_cancelled_turn_keeps_all_that_its_root_has_said() {
    let mut case = Case::new(script(&[("go", vec![Reply::Hang(words(2 * WORDS + 7))])]));
    case.run_with(None, |turn, step| {
        if step == 2 * WORDS {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    let end = case.end();
    assert_eq!(end.message.finish_reason, Some(FinishReason::Cancelled));
    assert!(end.message.content.len() > 3 * WORDS / 2 * WORD.len(), "more than what is not written");
    let said = case.seen.values().filter_map(|event| match event {
        Event::Chunk { content, .. } => Some(content.as_str()),
        _ => None,
    });
    assert_eq!(end.message.content, said.collect::<String>());
    assert_eq!(view(&case.disk.events.borrow()), view(&case.seen));
}

#[test]
fn a_call_lost_after_some_of_its_text_was_written_is_made_again() {
    let text = words(WORDS + 1);
    for commits in 1..=2 {
        let mut case = Case::new(script(&[("go", vec![Reply::Text(text)])]));
        case.run_with(Some(Kill::AfterCommits(commits)), |_, _| {});
        let is_text = |event: &&Event| matches!(event, Event::Chunk { kind: ChunkKind::Text, .. });
        let written = case.disk.events.borrow().values().filter(is_text).count();
        assert_eq!(written, if commits == 2 { WORDS + 1 } else { 0 }, "{commits}");
        case.resume(None);
        case.check();
        assert_eq!(case.end().message.content, text);
        assert_eq!(view(&case.disk.events.borrow()), view(&case.seen), "{commits}");
    }
}
