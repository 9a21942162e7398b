mod audit;
mod journal;
mod moves;
mod outgoing;

use serde_json::json;

use super::history::fit;
use super::page::{Bound, LogRow, Logged, assemble};
use super::rows::{EventRow, Fresh, entries, event_rows, journaled, part_changes};
use crate::live::LiveLog;
use crate::sse;
use engine::journal::{Entry, Fact, Shown, TextPart};
use wire::model::{Message, ModelChoice, RawMessage, RawValueEq, ToolCall};
use wire::protocol::{
    ChunkKind, Event, ExecutionMode, MessagePart, Place, Plan, PlanReview, PlanStatus, PlanStep, StepStatus,
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

fn log_row(row: EventRow) -> LogRow {
    LogRow { seq_first: row.seq_first, turn_id: "turn".to_owned(), payload: row.payload }
}

fn row_of(texts: &[TextPart], events: &[Fresh]) -> LogRow {
    let rows = event_rows(texts, events).unwrap();
    assert_eq!(rows.len(), 1, "a commit is one row");
    rows.into_iter().map(log_row).next().unwrap()
}

fn text_row(part: &TextPart) -> LogRow {
    row_of(std::slice::from_ref(part), &[])
}

fn fresh(seq: u64, event: &Event) -> Fresh {
    Fresh::new(seq, format!("key {seq}"), event.clone()).unwrap()
}

fn event_row(seq: u64, event: &Event) -> LogRow {
    row_of(&[], &[fresh(seq, event)])
}

/// An event as it was before it was written.
pub fn event_of(logged: &Logged) -> Event {
    serde_json::from_str(logged.event.json.get()).unwrap()
}

fn told(events: &[Logged]) -> Vec<(u64, String)> {
    events
        .iter()
        .map(|event| match event_of(event) {
            Event::Chunk { content, done, .. } => {
                (event.seq, format!("{content}{}", if done { "." } else { "" }))
            }
            Event::Error { code, .. } => (event.seq, code),
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
    assert!(page.events.iter().all(|event| event.turn_id == "turn" && event.event.kind == "chunk"));
    let events: Vec<(u64, Event)> = page.events.iter().map(|event| (event.seq, event_of(event))).collect();
    assert_eq!(events, expected);
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
    // Two texts end with a commit of several events.
    let last = [fresh(41, &error("z")), fresh(42, &error("z"))];
    let mut rows = vec![
        row_of(&[part("a", &[(2, "a1"), (4, "a2"), (40, "")])], &last),
        row_of(&[part("b", &[(3, "b1"), (25, "")])], &[]),
    ];
    rows.extend((5..25).map(|seq| event_row(seq, &error("x"))));
    rows.extend((26..30).map(|seq| event_row(seq, &error("y"))));
    let whole = told(&assemble(&rows, ALL, 0, 100).unwrap().events);
    assert_eq!(whole.len(), 2 + 3 + 20 + 4 + 2);
    // The rows that SELECT_PAGE selects.
    let select = |bound: Bound, after: u64| {
        let ends = |row: &LogRow| match row.seq_first {
            2 => 42,
            3 => 25,
            seq => seq,
        };
        let mut before = 0;
        let fits = |row: &&LogRow| {
            let fits = before <= bound.chars;
            before += if row.seq_first > after { row.payload.len() } else { 0 };
            fits
        };
        let found = rows.iter().filter(|row| ends(row) > after).take(bound.rows);
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
fn a_commit_is_one_row() {
    let text = part("p", &[(2, "a"), (8, "")]);
    let events = [fresh(9, &error("line\nbreak \"quoted\"")), fresh(10, &error("x"))];
    let rows = event_rows(std::slice::from_ref(&text), &events).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].seq_first, rows[0].seq_last), (2, 10));
    let expected = format!(
        r#"[[2,"","text",{}],[9,"key 9","error",{}],[10,"key 10","error",{}]]"#,
        serde_json::to_string(&text).unwrap(),
        events[0].event.json,
        events[1].event.json,
    );
    assert_eq!(rows[0].payload, expected, "no text is escaped twice");
    assert_eq!(event_rows(&[], &[]).unwrap(), []);
    // A row takes the smallest and the largest number, in whatever order they come.
    let parts = [part("a", &[(5, "a"), (6, "")]), part("b", &[(3, "b"), (7, "")])];
    let rows = event_rows(&parts, &[]).unwrap();
    assert_eq!((rows[0].seq_first, rows[0].seq_last), (3, 7));
}

// Issue 47, 3: an event is serialised once. Its row and each stream have the bytes that this gives.
#[test]
fn an_event_has_the_same_bytes_in_its_row_and_in_each_stream() {
    let fresh = [fresh(9, &error("line\nbreak \"quoted\""))];
    let row = row_of(&[], &fresh);
    assert!(row.payload.ends_with(&format!(",{}]]", fresh[0].event.json)), "{}", row.payload);
    let (mut live, mut stored) = (Vec::new(), Vec::new());
    let log = LiveLog::new("turn", 9);
    log.publish(&fresh);
    log.read(8, 9, usize::MAX, &mut live);
    let page = assemble(&[row], ALL, 0, 100).unwrap();
    sse::encode(&mut stored, 9, "turn", &page.events[0].event);
    assert!(live.ends_with(format!(",{}\n\n", fresh[0].event.members()).as_bytes()));
    assert_eq!(live, stored);
}

// Nor is a stored event serialised again. One that only later code knows goes out as well: clients leave it aside.
#[test]
fn a_stored_event_goes_out_as_it_stands() {
    let payload = r#"[[1,"a","tomorrow",{ "type": "tomorrow", "cost": 1.50 }],[2,"b","error",{"type":"error","code":"x","message":"","retryable":false}]]"#;
    let row = LogRow { seq_first: 1, turn_id: "turn".to_owned(), payload: payload.to_owned() };
    let page = assemble(std::slice::from_ref(&row), ALL, 1, 100).unwrap();
    assert_eq!(told(&page.events), [(2, "x".to_owned())]);
    let mut out = Vec::new();
    sse::encode(&mut out, 1, "turn", &assemble(&[row], ALL, 0, 100).unwrap().events[0].event);
    let expected = "id: 1\nevent: tomorrow\ndata: {\"seq\":1,\"turn_id\":\"turn\", \"type\": \"tomorrow\", \"cost\": 1.50 }\n\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn entries_come_back_from_one_row_or_several() {
    let entry = |count| Entry { at: String::new(), elapsed_ms: 5, fact: Fact::Resumed { count } };
    let raw = r#"{"at":"","elapsed_ms":5,"fact":{"resumed":{"count":2}}}"#;
    assert_eq!(journaled(&[entry(2)]).unwrap(), format!("{raw}\n"));
    assert_eq!(journaled(&[]).unwrap(), "");
    // The row of one commit, in which another goes on; the rows of an older version, whose entries end without a break.
    let grown = journaled(&[entry(1), entry(2)]).unwrap() + &journaled(&[entry(3)]).unwrap();
    let (head, tail) = raw.split_at(20);
    let rows = [(0, grown), (0, raw.to_owned()), (0, head.to_owned()), (1, tail.to_owned())];
    assert_eq!(entries(rows).unwrap(), [1, 2, 3, 2, 2].map(entry));
    assert!(entries([(0, head.to_owned())]).is_err());
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

// Two levels write at once, so a row begins before the row that was written before it.
#[test]
fn the_parts_of_a_turn_are_read_from_its_rows() {
    let call = |seq: u64, id: &str| {
        let event = json!({
            "type": "tool_call_update", "tool_call_id": id, "name": "echo", "status": "start", "depth": 0,
        });
        fresh(seq, &serde_json::from_value(event).unwrap())
    };
    let reset = |seq: u64, model_call_id: &str| {
        let (model_call_id, reason) = (model_call_id.to_owned(), "interrupted".to_owned());
        fresh(seq, &Event::ModelCallReset { model_call_id, place: Place::default(), reason })
    };
    let root = |part: TextPart| TextPart { place: Place::default(), ..part };
    let again = TextPart { model_call_id: "model of lost".to_owned(), ..part("again", &[(12, "Again.")]) };
    let rows = [
        row_of(
            &[root(part("first", &[(1, "Fir"), (3, "st.")])), part("lost", &[(2, "Lost.")])],
            &[call(5, "a")],
        ),
        row_of(
            &[
                part("inner", &[(4, "In"), (13, "side.")]),
                root(part("last", &[(8, "La"), (9, "st.")])),
                again,
            ],
            &[],
        ),
        row_of(&[], &[call(7, "b"), reset(11, "model of lost"), fresh(14, &error("x"))]),
    ];
    let told = rows.iter().flat_map(|row| part_changes(&row.payload).unwrap()).collect();
    let shown: Vec<String> = Shown::read(told)
        .parts()
        .into_iter()
        .map(|part| match part {
            MessagePart::Text { text, parent_id, .. } | MessagePart::Reasoning { text, parent_id, .. } => {
                format!("{text} {}", parent_id.unwrap_or_default())
            }
            MessagePart::Call { tool_call_id, .. } => tool_call_id,
            MessagePart::Summary { text } => text.unwrap_or_default(),
        })
        .collect();
    assert_eq!(shown, ["First. ", "Inside. call", "a", "b", "Last. ", "Again. call"]);
    assert!(part_changes("[[7,").is_err(), "such a turn cannot be rebuilt");
}
