//! Events on their way to readers: their encoding, their numbers, and the log that holds them while a turn runs.

use super::{call_ended, chunk, fact, publish};
use crate::live::{LiveLog, Position};
use crate::numbers::Numbers;
use crate::sse;
use crate::storage::event_json::EventJson;
use wire::protocol::{CallStatus, Event, Numbered, Place};

// ---- sse ----

#[test]
fn an_event_is_three_lines_and_a_blank_one() {
    let mut out = b"before".to_vec();
    sse::encode(&mut out, 42, "turn \"1\"", &EventJson::new(chunk("call", "a\nb\r\u{2028}\"")).unwrap());
    let text = String::from_utf8(out).unwrap();
    let expected = "beforeid: 42\nevent: chunk\ndata: {\"seq\":42,\"turn_id\":\"turn \\\"1\\\"\",\"type\":\"chunk\",\
        \"content\":\"a\\nb\\r\u{2028}\\\"\",\"part_id\":\"part\",\"model_call_id\":\"call\",\"parent_id\":null,\"depth\":0}\n\n";
    assert_eq!(text, expected);
}

#[test]
fn data_is_the_event_with_its_number_and_its_turn() {
    for event in [fact("x"), chunk("call", "text"), call_ended("call")] {
        let mut out = Vec::new();
        sse::encode(&mut out, 7, "turn", &EventJson::new(event.clone()).unwrap());
        let text = String::from_utf8(out).unwrap();
        let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let expected = Numbered { seq: 7, turn_id: "turn".to_owned(), event };
        assert_eq!(serde_json::from_str::<Numbered>(data).unwrap(), expected);
    }
}

// ---- numbers ----

#[test]
fn numbers_are_drawn_from_the_reservation_and_never_twice() {
    let numbers = Numbers::after(1);
    assert!(numbers.exhausted());
    let reserve = numbers.due(3).unwrap();
    numbers.set_reserved(reserve);
    let drawn: Vec<_> = (0..3).map(|_| numbers.draw()).collect();
    assert_eq!(drawn, [1, 2, 3]);
    assert_eq!(numbers.due(3), None, "a block lasts for many events");
    while numbers.due(1).is_none() {
        numbers.draw();
    }
    assert!(!numbers.exhausted(), "it is renewed before it is used up");
    // A crash skips the rest of the reservation.
    assert!(Numbers::after(reserve).next() > numbers.next());
}

#[test]
fn a_reservation_that_was_taken_back_is_due_again() {
    let numbers = Numbers::after(100);
    numbers.set_reserved(numbers.due(1).unwrap());
    numbers.draw();
    numbers.set_reserved(100);
    assert!(numbers.exhausted());
    assert!(numbers.due(1).is_some());
}

// ---- live log ----

#[test]
fn unwritten_frames_stay_and_written_ones_may_go() {
    let live = LiveLog::new("turn", 1);
    publish(&live, [(1, fact("start"))]);
    live.announce(2, chunk("a", &"x".repeat(2 << 20)), false).unwrap();
    publish(&live, [(3, fact("more"))]);
    assert_eq!(live.position(0), Position::Stored { before: 2 }, "the start is in storage, the text is not");
    assert_eq!(live.position(1), Position::Frames { through: 3, sync: true });
    publish(&live, [(4, call_ended("a"))]);
    assert_eq!(live.position(1), Position::Stored { before: 3 });
}

#[test]
fn arguments_count_by_their_length() {
    let live = LiveLog::new("turn", 1);
    let numbers = vec![1; 50_000];
    let serde_json::Value::Object(args) = serde_json::json!({ "numbers": numbers }) else { unreachable!() };
    let start = Event::ToolCallUpdate {
        tool_call_id: "c".to_owned(),
        name: "t".to_owned(),
        status: CallStatus::Start,
        started_ms: Some(0),
        usage: None,
        decision: None,
        cost_usd: None,
        args: Some(serde_json::Value::Object(args)),
        result: None,
        is_error: false,
        duration_ms: None,
        sources: Vec::new(),
        awaits: None,
        expires_at: None,
        place: Place::default(),
    };
    publish(&live, [(1, start.clone())]);
    assert!(live.bytes() > 100_000, "{}", live.bytes());
    for seq in 2..=20 {
        publish(&live, [(seq, start.clone())]);
        assert!(live.bytes() <= 1 << 20, "{seq}: {}", live.bytes());
    }
    assert_eq!(live.position(0), Position::Stored { before: 11 });
}

#[test]
fn a_reader_waits_is_woken_and_sees_the_end() {
    let live = LiveLog::new("turn", 5);
    assert_eq!(live.position(4), Position::Waiting);
    live.announce(5, chunk("a", "x"), false).unwrap();
    assert_eq!(live.position(4), Position::Frames { through: 5, sync: false }, "text may leave at once");
    live.announce(6, chunk("a", "x"), true).unwrap();
    assert_eq!(
        live.position(5),
        Position::Frames { through: 6, sync: true },
        "unless its number is new on disk"
    );
    live.mark_synced(6);
    assert_eq!(live.position(5), Position::Frames { through: 6, sync: false });
    live.close();
    assert_eq!(live.position(5), Position::Frames { through: 6, sync: false }, "the rest is still read");
    assert_eq!(live.position(6), Position::Over);
}
