use std::rc::Rc;

use serde_json::{Value, json};

use super::history::fit;
use super::outgoing::{Calls, News, Outgoing, ThreadRow, retry_after_ms, statements};
use super::page::{Bound, LogRow, assemble};
use super::rows::{Fresh, TEXT, entry_rows, event_rows};
use engine::journal::{
    Answer, CallRecord, Entry, Fact, Failure, ModelOutcome, Setting, TextPart, ToolEnd, TurnSpec, TurnStop,
};
use engine::profiles::{Chain, Limits, Offer, Price};
use engine::toolbelt::{PermissionClass, RunsAt, ToolPolicy, ToolSpec};
use wire::model::{
    Message, ModelChoice, ModelError, ModelErrorKind, ModelReply, RawMessage, RawValueEq, ReplyFinish,
    ToolCall, Usage,
};
use wire::protocol::{
    Awaited, BudgetReason, ChunkKind, ContextKind, Event, ExecutionMode, FinishReason, Numbered, Owner,
    Place, Plan, PlanReview, PlanStatus, PlanStep, Role, StepStatus, StoredMessage, Verdict,
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

/// Whatever the size of its pages, a reader gets every event once, in order.
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

fn owner() -> Owner {
    Owner { issuer: "anonymous".to_owned(), tenant: "tenant".to_owned(), user: "user".to_owned() }
}

fn message(id: &str, role: Role) -> StoredMessage {
    StoredMessage {
        id: id.to_owned(),
        turn_id: "turn".to_owned(),
        role,
        content: "text".to_owned(),
        created_at: 1_700_000_000_123,
        finish_reason: (role == Role::Assistant).then_some(FinishReason::Stop),
        stop: None,
        usage: None,
        execution_tree: (role == Role::Assistant).then(Default::default),
    }
}

fn outbox() -> Vec<Outgoing> {
    let thread = |updated_at| ThreadRow { title: "title".to_owned(), created_at: 1, updated_at };
    let tool = |id: &str| CallRecord::Tool {
        id: id.to_owned(),
        tool_name: "calculate".to_owned(),
        duration_ms: 3,
        is_error: true,
        detail: Some("detail".to_owned()),
    };
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m2".to_owned(),
        context_type: "thread".to_owned(),
        created_at: 7,
        records: vec![tool("c1"), tool("c2")],
        used: None,
        execution_mode: None,
    };
    let started = News::TurnStarted { thread: thread(1), message: message("m1", Role::User) };
    let ended = News::TurnEnded { thread: thread(2), message: message("m2", Role::Assistant), calls };
    vec![Outgoing::new(&owner(), "thread", started), Outgoing::new(&owner(), "thread", ended)]
}

#[test]
fn a_short_turn_is_one_batch_that_names_its_owner_everywhere() {
    let batch = statements(&outbox()).unwrap();
    let rows: Vec<Value> =
        batch.iter().map(|statement| serde_json::from_str(&statement.rows).unwrap()).collect();
    assert_eq!(batch.len(), 3, "threads, messages, tool_usage: {batch:?}");
    for row in rows.iter().flat_map(|rows| rows.as_array().unwrap()) {
        assert_eq!((&row[0], &row[1]), (&json!("tenant"), &json!("anonymous:user")));
    }
    assert_eq!(rows[0][1], json!(["tenant", "anonymous:user", "thread", "title", 1, 2]));
    assert_eq!(rows[1][0][7], Value::Null, "a user's message has no tree");
    assert_eq!(rows[1][1][7], json!(r#"{"nodes":[],"version":1}"#), "a tree is a text");
    assert_eq!(rows[1][1][9], json!("stop"));
    assert_eq!(rows[1][1][10], json!(1_700_000_000_123_u64));
    assert_eq!(rows[2][1][2], json!("m2/c2"), "call ids repeat across threads, message ids do not");
}

#[test]
fn a_deletion_comes_last_and_keeps_only_what_was_spent() {
    let mut news: Vec<_> = outbox().into_iter().filter_map(Outgoing::without_content).collect();
    news.push(Outgoing::new(&owner(), "thread", News::ThreadDeleted { workspace_root: None }));
    let batch = statements(&news).unwrap();
    let verbs = [
        "INSERT INTO tool_usage ",
        "DELETE FROM messages ",
        "UPDATE tool_usage SET detail = NULL ",
        "UPDATE error_log SET message = '' ",
        "DELETE FROM plans ",
        "DELETE FROM threads ",
    ];
    assert_eq!(batch.len(), verbs.len());
    for (statement, verb) in batch.iter().zip(verbs) {
        assert!(statement.sql.trim().starts_with(verb), "{}", statement.sql);
    }
    for blanked in &batch[2..] {
        assert_eq!(blanked.rows, r#"[["tenant","anonymous:user","thread"]]"#);
    }
    assert!(!batch[0].rows.contains("detail"), "what a call was asked for goes with its thread");
}

fn failure(id: &str) -> Failure {
    Failure {
        id: id.to_owned(),
        component: "tool".to_owned(),
        stage: "run".to_owned(),
        tool_name: Some("calculate".to_owned()),
        code: "tool_failed".to_owned(),
        message: "because".to_owned(),
    }
}

// B-033 B-034 B-035 B-107 B-108
#[test]
fn calls_and_failures_are_rows() {
    let model = CallRecord::Model {
        id: "model".to_owned(),
        provider: "openai".to_owned(),
        model: "gpt".to_owned(),
        operation_type: "chat".to_owned(),
        profile: "speed".to_owned(),
        input_tokens: 10,
        cached_tokens: 4,
        output_tokens: 2,
        cost_usd: Some(0.5),
        first_byte_ms: None,
        duration_ms: 30,
        retries: 2,
        outcome: "provider_quota".to_owned(),
    };
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m2".to_owned(),
        context_type: "thread".to_owned(),
        created_at: 7,
        records: vec![model, CallRecord::Failure(failure("failure_0"))],
        used: None,
        execution_mode: None,
    };
    let failed = News::Failed { failure: Failure { tool_name: None, ..failure("outbox_5") }, created_at: 5 };
    let spent = Outgoing::new(&owner(), "thread", News::Spent { calls });
    let batch = statements(&[spent.clone(), Outgoing::new(&owner(), "thread", failed)]).unwrap();
    let rows: Vec<Value> = batch.iter().map(|batch| serde_json::from_str(&batch.rows).unwrap()).collect();
    let user = "anonymous:user";
    assert_eq!(
        rows,
        [
            json!([[
                "tenant",
                user,
                "m2/model",
                "thread",
                "turn",
                "openai",
                "gpt",
                "chat",
                "thread",
                "speed",
                "agent",
                10,
                4,
                2,
                0.5,
                null,
                30,
                2,
                "provider_quota",
                7
            ]]),
            json!([
                [
                    "tenant",
                    user,
                    "m2/failure_0",
                    "thread",
                    "turn",
                    "tool",
                    "run",
                    "calculate",
                    "tool_failed",
                    "because",
                    "thread",
                    "agent",
                    7
                ],
                [
                    "tenant",
                    user,
                    "thread/outbox_5",
                    "thread",
                    "",
                    "tool",
                    "run",
                    null,
                    "tool_failed",
                    "because",
                    "",
                    "agent",
                    5
                ],
            ]),
        ]
    );
    for (statement, rows) in batch.iter().zip(&rows) {
        let columns = statement.sql.split(['(', ')']).nth(1).unwrap().split(',').count();
        let values = statement.sql.matches("value ->>").count();
        assert_eq!((columns, values), (rows[0].as_array().unwrap().len(), columns), "{}", statement.sql);
    }
    let Some(Outgoing { news: News::Spent { calls }, .. }) = spent.without_content() else { panic!() };
    assert_eq!(calls.records.len(), 1, "what failed may quote what was deleted");
}

/// D1 may hear of things in any order and late: it is told the present title, and no message that was replaced.
#[test]
fn what_is_told_late_is_told_as_it_is_now() {
    let told: Vec<_> = outbox().into_iter().map(|out| out.told_now("mine", false)).collect();
    let batch = statements(&told).unwrap();
    let threads: Value = serde_json::from_str(&batch[0].rows).unwrap();
    let titles: Vec<_> = threads.as_array().unwrap().iter().map(|row| &row[3]).collect();
    assert_eq!(titles, ["mine", "mine"]);

    let replaced = outbox().into_iter().map(|out| out.told_now("mine", true));
    let gone = News::MessagesReplaced { ids: vec!["m1".to_owned(), "m2".to_owned()] };
    let news: Vec<_> = [Outgoing::new(&owner(), "thread", gone)].into_iter().chain(replaced).collect();
    let batch = statements(&news).unwrap();
    let verbs = [
        "INSERT INTO threads ",
        "INSERT INTO tool_usage ",
        "DELETE FROM messages ",
        "UPDATE tool_usage SET detail = NULL ",
        "UPDATE error_log SET message = '' ",
    ];
    assert_eq!(batch.len(), verbs.len());
    for (statement, verb) in batch.iter().zip(verbs) {
        assert!(statement.sql.trim().starts_with(verb), "{}", statement.sql);
    }
    for gone in &batch[2..] {
        assert_eq!(gone.rows, r#"[["tenant","anonymous:user","m1"],["tenant","anonymous:user","m2"]]"#);
    }
    let kept: Vec<_> = news.into_iter().filter_map(Outgoing::without_content).map(|out| out.news).collect();
    assert!(matches!(kept[..], [News::Spent { .. }]), "of a deleted thread only what was spent: {kept:?}");
}

#[test]
fn the_outbox_is_read_back_as_it_was_written() {
    for outgoing in outbox() {
        let json = serde_json::to_string(&outgoing).unwrap();
        assert_eq!(serde_json::from_str::<Outgoing>(&json).unwrap(), outgoing);
    }
}

#[test]
fn a_refusing_d1_is_asked_less_and_less() {
    let waits: Vec<_> = [1, 2, 3, 4, 5, 6, 7, 64, 65, u32::MAX].map(retry_after_ms).to_vec();
    assert_eq!(waits, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 3_600_000, 3_600_000]);
}

/// What the journal holds must be there again after a crash, the raw JSON of schemas and providers byte for byte.
#[test]
fn journal_entries_are_read_back_as_they_were_written() {
    let raw = |json: &str| RawValueEq(serde_json::value::RawValue::from_string(json.to_owned()).unwrap());
    let place = Place { parent_id: Some("call".to_owned()), depth: 2 };
    let reply = ModelReply {
        text: "text".to_owned(),
        tool_calls: vec![ToolCall {
            call_id: "1".to_owned(),
            name: "t".to_owned(),
            arguments: "{".to_owned(),
        }],
        finish: ReplyFinish::ToolCalls,
        usage: Some(Usage { input_tokens: 1, cached_tokens: 2, cache_write_tokens: 0, output_tokens: 3 }),
        raw: Some(RawMessage::of(
            &ModelChoice::new("openai", "m"),
            "chat",
            raw("{ \"b\": 1.0, \"a\":\"\\u00fc\" }"),
        )),
    };
    let error = ModelError { kind: ModelErrorKind::Overloaded, message: "busy".to_owned() };
    let ended = |outcome| Fact::ModelEnded {
        digest: "d".to_owned(),
        outcome,
        duration_ms: 3,
        place: place.clone(),
        asked: 1,
        first_byte_ms: Some(2),
    };
    let mut spec = ToolSpec {
        name: "t".to_owned(),
        description: "d".to_owned(),
        input_schema: Rc::new(raw("{ \"type\": \"object\", \"z\": 1, \"a\": 2 }")),
        permission_class: None,
        parallel_safe: true,
        exclusive_lock: None,
        idempotent: true,
        mcp_server: Some("docs".to_owned()),
        mcp_tool: Some("search".to_owned()),
        timeout_ms: Some(1),
        runs_at: RunsAt::Client,
        ask: true,
    };
    let mut tools = vec![spec.clone()];
    spec.permission_class = Some(PermissionClass::Safe);
    tools.push(spec);
    let offer = |model: &str| Offer {
        choice: Rc::new(ModelChoice::new("openai", model.to_owned())),
        price: (model == "m").then_some(Price { input: 1.0, cached: 0.1, cache_write: None, output: 2.5 }),
    };
    let started = TurnSpec {
        format: engine::journal::FORMAT,
        least_reader: engine::journal::LEAST_READER,
        thread_id: "thread".to_owned(),
        turn_id: "turn".to_owned(),
        user_message_id: "u".to_owned(),
        assistant_message_id: "a".to_owned(),
        content: "c".into(),
        context_type: "thread".to_owned(),
        setting: Setting {
            entity_id: Some("e".to_owned()),
            goal: Some("g".to_owned()),
            plan_tools: vec!["t?".to_owned()],
            draft: Some(Box::new(plan())),
            reviewers: Some(Chain::of(offer("r"))),
            ..Setting::default()
        },
        profile: "primary".to_owned(),
        chain: Chain { first: offer("m"), then: vec![offer("n")] },
        subtask_chain: Some(Chain::of(offer("o"))),
        limits: Limits::default(),
        policy: ToolPolicy::of(ContextKind::Thread),
        tools,
        system: "s".to_owned(),
        history_until: 7,
        retrieved: Some("r".to_owned()),
        replaces_message_id: Some("m".to_owned()),
        created_at: 8,
    };
    let tool_end = ToolEnd {
        content: "c".to_owned(),
        is_error: true,
        partial: true,
        overlay: [("k".to_owned(), "v".to_owned())].into(),
        versions: Default::default(),
        duration_ms: 1,
    };
    let facts = [
        Fact::Started(Box::new(started)),
        Fact::ModelStarted {
            digest: "d".to_owned(),
            attempt: 1,
            place: place.clone(),
            held: Usage { input_tokens: 4, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 5 },
        },
        ended(ModelOutcome::Replied(Box::new(reply))),
        ended(ModelOutcome::Failed { error: error.clone(), said: "partial".to_owned() }),
        Fact::ModelRetried { requests: 1, failed: 0, error: error.clone(), asked: 1 },
        Fact::ToolStarted { place: place.clone(), subtask: true },
        Fact::ToolEnded(tool_end),
        Fact::Stopped(TurnStop::Budget { reason: BudgetReason::LlmCalls, limit: 1, observed: 2 }),
        Fact::Stopped(TurnStop::Model { error }),
        Fact::Stopped(TurnStop::Superseded),
        Fact::Resumed { count: 1 },
        Fact::Waiting { on: Awaited::Approval, place: place.clone(), since: 1, until: 2 },
        Fact::Answered { on: Awaited::Client, answer: Answer::Expired, at_ms: 3 },
        Fact::Answered {
            on: Awaited::Client,
            answer: Answer::Result { content: "c".to_owned(), is_error: true },
            at_ms: 3,
        },
        Fact::Canned { digest: "d".to_owned(), text: "t".to_owned() },
        Fact::Called {
            place: place.clone(),
            calls: vec![ToolCall {
                call_id: "1".to_owned(),
                name: "t".to_owned(),
                arguments: "{".to_owned(),
            }],
        },
        Fact::ModelDropped,
        Fact::Plan(Box::new(plan())),
        Fact::Parked { count: 1 },
        Fact::Unparked { count: 1 },
    ];
    for fact in facts {
        let entry = Entry { at: "0.1".to_owned(), elapsed_ms: 5, fact };
        let json = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&json).unwrap(), entry, "{json}");
    }
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

// B-078 B-083 B-105 B-106 B-111: a plan is a row of the index, with what metrics are counted by.
#[test]
fn a_plan_is_told_with_its_context_and_its_review() {
    let news = News::PlanChanged { turn_id: "turn".to_owned(), plan: Box::new(plan()), updated_at: 9 };
    let batch = statements(&[Outgoing::new(&owner(), "thread", news.clone())]).unwrap();
    let [statement] = batch.as_slice() else { panic!("{batch:?}") };
    assert!(statement.sql.trim().starts_with("INSERT INTO plans "));
    let rows: Value = serde_json::from_str(&statement.rows).unwrap();
    let expected =
        json!(["tenant", "anonymous:user", "thread", "plan_1", "turn", "o", "label", "project", "e"]);
    assert_eq!(rows[0].as_array().unwrap()[..9], expected.as_array().unwrap()[..]);
    assert_eq!(rows[0][9], json!("agent_review"));
    assert_eq!((&rows[0][10], &rows[0][11]), (&json!("pending_review"), &json!("needs_changes")));
    assert_eq!(serde_json::from_str::<Plan>(rows[0][12].as_str().unwrap()).unwrap(), plan());
    assert_eq!((&rows[0][13], &rows[0][14], &rows[0][15]), (&json!(3), &json!(4), &json!(9)));
    assert_eq!(Outgoing::new(&owner(), "thread", news).without_content(), None);
}

// B-071 B-072 B-089 B-107 B-108: all rows of a turn say how its plan was to be carried out.
#[test]
fn a_turn_is_annotated_with_its_execution_mode() {
    let tool = CallRecord::Tool {
        id: "c".to_owned(),
        tool_name: "agent_create_plan".to_owned(),
        duration_ms: 3,
        is_error: false,
        detail: Some("objective".to_owned()),
    };
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m2".to_owned(),
        context_type: "project".to_owned(),
        created_at: 7,
        records: vec![tool, CallRecord::Failure(failure("failure_0"))],
        used: None,
        execution_mode: Some("draft_only".to_owned()),
    };
    let batch = statements(&[Outgoing::new(&owner(), "thread", News::Spent { calls })]).unwrap();
    let rows: Vec<Value> = batch.iter().map(|batch| serde_json::from_str(&batch.rows).unwrap()).collect();
    assert_eq!(
        rows[0][0].as_array().unwrap()[6..],
        *json!([3, 0, "ok", 7, "project", "draft_only", "objective"]).as_array().unwrap()
    );
    assert_eq!((&rows[1][0][10], &rows[1][0][11]), (&json!("project"), &json!("draft_only")));
}
