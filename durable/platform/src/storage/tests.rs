mod journal;
mod outgoing;

use serde_json::{Value, json};

use super::history::fit;
use super::page::{Bound, LogRow, assemble};
use super::rows::{Fresh, TEXT, entry_rows, event_rows};
use engine::journal::{Entry, Fact, TextPart};
use wire::model::{Message, ModelChoice, RawMessage, RawValueEq, ToolCall};
use wire::protocol::{
    ChunkKind, Event, ExecutionMode, Numbered, Place, Plan, PlanReview, PlanStatus, PlanStep, StepStatus,
    Verdict,
};

const ALL: Bound = Bound { rows: usize::MAX, chars: usize::MAX };

fn part(id: &str, chunks: &[(u64, &str)]) -> TextPart {
    TextPart {
        part_id: id.to_owned(),
        model_call_id: format!("model of {id}"),
        kind: ChunkKind::Text,
        place: Place { parent_id: Some("call".to_owned()), depth: 1 },
        chunks: chunks.iter().map(|(seq, text)| (*seq, text.len() as u32)).collect(),
        text: chunks.iter().map(|(_, text)| *text).collect(),
        more: false,
    }
}

fn error(code: &str) -> Event {
    Event::Error { code: code.to_owned(), message: "because".to_owned(), retryable: false }
}

fn text_row(part: &TextPart) -> LogRow {
    LogRow {
        seq_first: part.chunks[0].0,
        turn_id: "turn".to_owned(),
        kind: TEXT.to_owned(),
        payload: serde_json::to_string(part).unwrap(),
    }
}

fn event_row(seq: u64, event: &Event) -> LogRow {
    LogRow {
        seq_first: seq,
        turn_id: "turn".to_owned(),
        kind: event.kind().to_owned(),
        payload: serde_json::to_string(event).unwrap(),
    }
}

fn told(events: &[Numbered]) -> Vec<(u64, String)> {
    events
        .iter()
        .map(|event| match &event.event {
            Event::Chunk { content, done, .. } => {
                (event.seq, format!("{content}{}", if *done { "." } else { "" }))
            }
            Event::Error { code, .. } => (event.seq, code.clone()),
            other => (event.seq, other.kind().to_owned()),
        })
        .collect()
}

#[test]
fn a_text_is_read_back_as_the_chunks_that_were_announced() {
    let part = part("p", &[(3, "Grüß"), (5, " di"), (6, "ch"), (9, "")]);
    let page = assemble(&[text_row(&part)], ALL, 0, 100).unwrap();
    let chunk = |content: &str, done| Event::Chunk {
        content: content.to_owned(),
        part_id: "p".to_owned(),
        model_call_id: "model of p".to_owned(),
        place: part.place.clone(),
        done,
        kind: ChunkKind::Text,
    };
    let expected =
        [(3, chunk("Grüß", false)), (5, chunk(" di", false)), (6, chunk("ch", false)), (9, chunk("", true))];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(seq, event)| Numbered { seq, turn_id: "turn".to_owned(), event })
        .collect();
    assert_eq!(page.events, expected);
    assert_eq!(page.through, 99);
}

#[test]
fn rows_whose_numbers_interleave_are_merged() {
    let rows = [
        text_row(&part("a", &[(2, "a1"), (4, "a2"), (7, "")])),
        text_row(&part("b", &[(3, "b1"), (5, "")])),
        event_row(6, &error("x")),
    ];
    let page = assemble(&rows, ALL, 2, 7).unwrap();
    let expected = [(3, "b1"), (4, "a2"), (5, "."), (6, "x")];
    assert_eq!(told(&page.events), expected.map(|(seq, text)| (seq, text.to_owned())));
    assert_eq!(page.through, 6);
}

/// A reader gets every event once, in order, with pages of any size.
#[test]
fn pages_leave_no_hole_and_repeat_nothing() {
    let mut rows = vec![
        text_row(&part("a", &[(2, "a1"), (4, "a2"), (40, "")])),
        text_row(&part("b", &[(3, "b1"), (25, "")])),
    ];
    rows.extend((5..25).map(|seq| event_row(seq, &error("x"))));
    rows.extend((26..30).map(|seq| event_row(seq, &error("y"))));
    let whole = told(&assemble(&rows, ALL, 0, 100).unwrap().events);
    assert_eq!(whole.len(), 2 + 3 + 20 + 4);
    // What SELECT_PAGE selects.
    let select = |bound: Bound, after: u64| {
        let last = |row: &LogRow| match serde_json::from_str::<TextPart>(&row.payload) {
            Ok(part) => part.chunks.last().unwrap().0,
            Err(_) => row.seq_first,
        };
        let mut before = 0;
        let fits = |row: &&LogRow| {
            let fits = before <= bound.chars;
            before += if row.seq_first > after { row.payload.len() } else { 0 };
            fits
        };
        let found = rows.iter().filter(|row| last(row) > after).take(bound.rows);
        found.take_while(fits).cloned().collect::<Vec<_>>()
    };
    let by_rows = (3..=rows.len()).map(|rows| Bound { rows, ..ALL });
    let by_chars = [0, 1, 100, 200, 500, 1_000, 2_000].map(|chars| Bound { chars, ..ALL });
    for bound in by_rows.chain(by_chars) {
        let (mut after, mut read) = (0, Vec::new());
        while after < 99 {
            let page = assemble(&select(bound, after), bound, after, 100).unwrap();
            assert!(page.through > after, "pages of {bound:?} make progress");
            after = page.through;
            read.extend(told(&page.events));
        }
        assert_eq!(read, whole, "pages of {bound:?}");
    }
}

#[test]
fn a_page_ends_where_it_is_heavy() {
    let row = |seq| {
        event_row(seq, &Event::Error { code: "x".repeat(100), message: String::new(), retryable: false })
    };
    let rows = [row(1), row(2), row(3)];
    let length = rows[0].payload.len();
    let through = |rows: &[LogRow], chars| assemble(rows, Bound { chars, ..ALL }, 0, 100).unwrap().through;
    assert_eq!(through(&rows[..2], 2 * length), 99, "as much as a page may have: there is no more");
    assert_eq!(through(&rows[..2], 2 * length - 1), 2, "beyond it there may be");
}

#[test]
fn a_text_that_does_not_fit_its_lengths_is_an_error() {
    let mut part = part("p", &[(1, "ü")]);
    part.chunks = vec![(1, 1)];
    assert!(assemble(&[text_row(&part)], ALL, 0, 100).is_err());
}

#[test]
fn a_commit_is_one_array_of_rows() {
    let text = part("p", &[(2, "a"), (8, "")]);
    let fresh = [Fresh { seq: 9, key: "done".to_owned(), event: error("line\nbreak \"quoted\"") }];
    let rows = |arrays: Vec<String>| -> Value {
        assert_eq!(arrays.len(), 1);
        serde_json::from_str(&arrays[0]).unwrap()
    };
    let entry_rows = |entries: &[Entry]| rows(entry_rows(entries).unwrap());
    let rows = rows(event_rows(std::slice::from_ref(&text), &fresh).unwrap());
    assert_eq!(rows[0], json!([2, 8, "text:p:2", "text", serde_json::to_string(&text).unwrap()]));
    assert_eq!(rows[1], json!([9, 9, "done", "error", serde_json::to_string(&fresh[0].event).unwrap()]));

    let entry = Entry { at: String::new(), elapsed_ms: 5, fact: Fact::Resumed { count: 2 } };
    let rows = entry_rows(std::slice::from_ref(&entry));
    assert_eq!(rows, json!([["resumed:2", 0, serde_json::to_string(&entry).unwrap()]]));
}

fn history(result: usize, raw: usize) -> Vec<Message> {
    let json = RawValueEq(serde_json::value::to_raw_value(&"r".repeat(raw)).unwrap());
    let raw = RawMessage::of(&ModelChoice::new("openai", "m"), "chat", json);
    let call =
        |id: &str| ToolCall { call_id: id.to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
    let answer = |id: &str| Message::Tool {
        call_id: id.to_owned(),
        name: "t".to_owned(),
        content: "ü".repeat(result),
        is_error: false,
    };
    vec![
        Message::User { content: "question".into() },
        Message::Assistant { content: String::new(), tool_calls: vec![call("1"), call("2")], raw: Some(raw) },
        answer("1"),
        answer("2"),
        Message::Assistant { content: "answer".to_owned(), tool_calls: Vec::new(), raw: None },
    ]
}

#[test]
fn a_history_that_fits_is_kept_as_it_is() {
    let history = history(100, 100);
    assert_eq!(fit(&history, 10_000).unwrap(), serde_json::to_string(&history).unwrap());
}

#[test]
fn a_history_that_is_too_long_is_shortened_where_it_hurts_least() {
    let read = |json: &str| serde_json::from_str::<Vec<Message>>(json).unwrap();

    let results = fit(&history(50_000, 100), 40_000).unwrap();
    assert!(results.len() <= 40_000);
    let Message::Tool { content, .. } = &read(&results)[3] else { panic!("{results}") };
    assert!(content.starts_with("üü") && content.ends_with("[shortened]"));
    let Message::Assistant { raw, .. } = &read(&results)[1] else { panic!("{results}") };
    assert!(raw.is_some(), "the provider's own message stays while it can");

    let raws = fit(&history(50_000, 100_000), 40_000).unwrap();
    assert_eq!(read(&raws).len(), 5);
    let Message::Assistant { raw: None, tool_calls, .. } = &read(&raws)[1] else { panic!("{raws}") };
    assert_eq!(tool_calls.len(), 2);

    let ends = fit(&history(50_000, 100_000), 400).unwrap();
    let question = Message::User { content: "question".into() };
    let answer = Message::Assistant { content: "answer".to_owned(), tool_calls: Vec::new(), raw: None };
    assert_eq!(read(&ends), [question, answer]);
}

#[test]
fn images_go_when_all_else_is_short() {
    let mut history = history(100, 100);
    let image = format!("data:image/png;base64,{}", "A".repeat(4_000));
    let content = serde_json::json!([{"type": "text", "text": "question"}, {"type": "image", "data": image}]);
    history[0] = Message::User { content: serde_json::from_value(content).unwrap() };
    let whole = serde_json::to_string(&history).unwrap();
    assert_eq!(fit(&history, whole.len()).unwrap(), whole);
    let shorter = fit(&history, whole.len() - 300).unwrap();
    let read: Vec<Message> = serde_json::from_str(&shorter).unwrap();
    assert_eq!(read[0], Message::User { content: "question\n\n[image/png, 3 kB]".into() });
    assert_eq!(read.len(), 5);
}

fn plan() -> Plan {
    Plan {
        id: "plan_1".to_owned(),
        objective: "o".to_owned(),
        reasoning: "r".to_owned(),
        context_type: "project".to_owned(),
        entity_id: Some("e".to_owned()),
        intent_label: Some("label".to_owned()),
        execution_mode: ExecutionMode::AgentReview,
        requested_outputs: vec!["x".to_owned()],
        priority_entities: vec!["y".to_owned()],
        status: PlanStatus::PendingReview,
        steps: vec![PlanStep {
            id: "a".to_owned(),
            title: "t".to_owned(),
            instructions: "i".to_owned(),
            depends_on: vec!["b".to_owned()],
            tool: Some("tool".to_owned()),
            status: StepStatus::Partial,
        }],
        review: Some(PlanReview { verdict: Verdict::NeedsChanges, notes: "n".to_owned() }),
        revision: 3,
        created_at: 4,
    }
}
