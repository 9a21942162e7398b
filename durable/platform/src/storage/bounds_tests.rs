//! Every row and every parameter stays below the platform's limit of 2 MB.

use serde_json::{Value, json};

use super::fit::{
    CALLS_BYTES, CONTENT_BYTES, PARTS_BYTES, TREE_BYTES, cut, fit_calls, fit_message, json_text, parts_text,
};
use super::history::{MAX_BYTES, fit};
use super::outgoing::{Calls, News, Outgoing, ThreadRow, statements};
use super::page::{Bound, LogRow, assemble};
use super::rows::{
    EventRow, Fresh, PAYLOAD_BYTES, entries, event_rows, items, journaled, json_bytes, pieces,
};
use super::tests::event_of;
use bindings::rows::STATEMENT_BYTES;
use engine::journal::{CallRecord, Entry, Fact, TextPart, ToolEnd};
use engine::turn::{LEFT_CHARS, MAX_LEFT};
use wire::model::Message;
use wire::protocol::{
    CUT_MARK, ChunkKind, Event, ExecutionMode, ExecutionTree, FinishReason, LeftUndone, MessagePart, Owner,
    PREVIEW_CHARS, Place, Plan, PlanReview, PlanStatus, PlanStep, Role, StepStatus, StopNote, StoredMessage,
    TreeNode, Verdict, preview,
};

/// The platform's limit.
const LIMIT: usize = 2_000_000;

/// Characters that are one byte each and six as JSON, and twelve as JSON in JSON.
fn worst(bytes: usize) -> String {
    "\u{1}".repeat(bytes)
}

fn part(chunks: usize, each: &str) -> TextPart {
    TextPart {
        part_id: "p".to_owned(),
        model_call_id: "m".to_owned(),
        kind: ChunkKind::Text,
        place: Place::default(),
        chunks: (0..chunks).map(|index| (9_000_000_000_000_000 + index as u64, each.len() as u32)).collect(),
        text: each.repeat(chunks),
        more: false,
    }
}

/// The rows of arrays, each checked.
fn rows_of(arrays: &[String]) -> Vec<Value> {
    let mut rows = Vec::new();
    for array in arrays {
        assert!(array.len() <= STATEMENT_BYTES && array.len() < LIMIT, "{} bytes", array.len());
        rows.extend(serde_json::from_str::<Vec<Value>>(array).unwrap());
    }
    rows
}

#[test]
fn a_part_of_any_length_is_read_back_as_its_chunks() {
    // The longest reply that a codec takes, in chunks of one byte, and in chunks of 64 KiB of the worst characters.
    let parts = [
        part(524_288, "x"),
        part(8, &worst(64 << 10)),
        part(400, &"x".repeat(300)),
        part(0, ""),
        part(1, ""),
    ];
    // A part that is written before its end goes on in other rows, however long it is.
    let begun = parts.clone().map(|part| TextPart { more: true, ..part });
    for part in parts.into_iter().chain(begun) {
        let rows = event_rows(std::slice::from_ref(&part), &[]).unwrap();
        let log_row = |row: EventRow| LogRow {
            seq_first: row.seq_first,
            turn_id: "turn".to_owned(),
            payload: row.payload,
        };
        let read: Vec<LogRow> = rows.into_iter().map(log_row).collect();
        assert!(read.iter().all(|row| row.payload.len() < PAYLOAD_BYTES + 1_000));
        let page = assemble(&read, Bound { rows: usize::MAX, chars: usize::MAX }, 0, u64::MAX).unwrap();
        assert_eq!(page.events.len(), part.chunks.len());
        // Of half a million events that are alike a few thousand are read whole.
        let step = (part.chunks.len() / 4_000).max(1);
        let mut at = 0;
        for ((event, (seq, length)), left) in
            page.events.iter().zip(&part.chunks).zip((0..part.chunks.len()).rev())
        {
            assert_eq!(event.seq, *seq);
            if left % step == 0 {
                let Event::Chunk { content, done, .. } = event_of(event) else { panic!("{event:?}") };
                assert_eq!(done, left == 0 && !part.more, "only the last one closes the part");
                assert_eq!(Some(content.as_str()), part.text.get(at..at + *length as usize));
            }
            at += *length as usize;
        }
    }
}

#[test]
fn an_entry_of_any_length_is_read_back_whole() {
    let entry = |at: &str, bytes: usize| Entry {
        at: at.to_owned(),
        elapsed_ms: 1,
        fact: Fact::ToolEnded(ToolEnd {
            content: worst(100),
            overlay: (0..bytes / 50_000).map(|n| (format!("key {n}"), "ü\"\\".repeat(12_500))).collect(),
            duration_ms: 1,
            ..ToolEnd::default()
        }),
    };
    // The most that a subtask may have written to memory, between two short entries.
    let written = [entry("0.0", 0), entry("0.1", 256 * 50_000), entry("0.2", 0)];
    let text = journaled(&written).unwrap();
    let rows = pieces(&text);
    assert!(rows.len() > 20);
    assert!(rows.iter().all(|piece| piece.len() <= PAYLOAD_BYTES));
    assert_eq!(entries((0..).zip(rows.into_iter().map(str::to_owned))).unwrap(), written);
    let exact = "x".repeat(PAYLOAD_BYTES);
    assert_eq!(pieces(&exact), [exact.as_str()]);
    assert_eq!(pieces(&(exact.clone() + "y")), [exact.as_str(), "y"]);
}

#[test]
fn a_long_commit_is_several_rows_and_no_event_is_split() {
    let event = |seq, bytes: usize| {
        let error = Event::Error { code: "x".to_owned(), message: "y".repeat(bytes), retryable: false };
        Fresh::new(seq, format!("tool_end:{seq}"), error).unwrap()
    };
    let mut events: Vec<Fresh> = (1..=128).map(|seq| event(seq, 50_000)).collect();
    events.push(event(129, 1_000_000));
    let rows = event_rows(&[], &events).unwrap();
    assert!(rows.len() > 12);
    assert!(rows.iter().all(|row| row.payload.len() < LIMIT));
    let (long, short) = rows.split_last().unwrap();
    assert!(short.iter().all(|row| row.payload.len() <= PAYLOAD_BYTES + 1));
    assert_eq!((long.seq_first, long.seq_last), (129, 129), "a long event has a row of its own");
    let numbers: Vec<u64> =
        rows.iter().flat_map(|row| items(&row.payload).unwrap()).map(|item| item.0).collect();
    assert_eq!(numbers, (1..=129).collect::<Vec<u64>>());
    assert!(rows.windows(2).all(|pair| pair[0].seq_last < pair[1].seq_first));

    // Up to its limit a row takes a further event.
    let length = |bytes| event_rows(&[], &[event(1, bytes)]).unwrap()[0].payload.len();
    let room = PAYLOAD_BYTES - (length(0) - 2) - (length(0) - 2);
    for (bytes, rows) in [(room - 2, 1), (room, 2)] {
        assert_eq!(event_rows(&[], &[event(1, bytes), event(2, 0)]).unwrap().len(), rows, "{bytes}");
    }
}

fn node(n: usize, text: &str) -> TreeNode {
    TreeNode {
        id: format!("call_0123456789abcdef_{n}"),
        name: "run_subtask".to_owned(),
        title: Some(preview(text)),
        args_preview: Some(preview(text)),
        result_preview: Some(preview(text)),
        ..TreeNode::default()
    }
}

fn message(content: String, nodes: usize, text: &str) -> StoredMessage {
    StoredMessage {
        id: "m".to_owned(),
        turn_id: "turn".to_owned(),
        role: Role::Assistant,
        content,
        created_at: 1,
        finish_reason: Some(FinishReason::Stop),
        stop: None,
        usage: None,
        execution_tree: Some(ExecutionTree {
            nodes: (0..nodes).map(|n| node(n, text)).collect(),
            ..ExecutionTree::default()
        }),
        parts: Vec::new(),
    }
}

#[test]
fn a_message_that_fits_is_kept_as_it_is() {
    let message = message("Grüß dich".to_owned(), 200, "2+2");
    assert_eq!(fit_message(message.clone()).unwrap(), message);
    let exact = cut(&"x".repeat(CONTENT_BYTES), CONTENT_BYTES);
    assert!(exact.starts_with("xxx") && exact.ends_with("bytes in all]"));
    assert_eq!(json_bytes(&exact), CONTENT_BYTES);
}

#[test]
fn a_message_that_is_too_long_is_cut_and_says_so() {
    // The text of twenty longest replies, and more calls than any limit allows.
    let long = message(worst(20 * 512 * 1024), 10_000, &worst(10_000));
    let fitted = fit_message(long).unwrap();
    assert!(json_bytes(&fitted.content) <= CONTENT_BYTES);
    assert!(fitted.content.ends_with("[shortened: 10485760 bytes in all]"));
    let tree = fitted.execution_tree.unwrap();
    assert!(serde_json::to_string(&tree).unwrap().len() <= TREE_BYTES);
    assert!(tree.nodes.len() > 1_000, "names and ids are worth more than previews");
    assert_eq!(tree.omitted, Some(10_000 - tree.nodes.len() as u32));

    // The profile's 200 calls with the longest previews keep the beginning of each.
    let tree = fit_message(message(String::new(), 200, &"ü".repeat(600))).unwrap().execution_tree.unwrap();
    assert_eq!((tree.nodes.len(), tree.omitted), (200, None));
    assert!(tree.nodes[199].args_preview.as_ref().unwrap().starts_with("üüü"));
}

fn text(bytes: usize, parent: Option<&str>) -> MessagePart {
    MessagePart::Text { text: "x".repeat(bytes), parent_id: parent.map(str::to_owned), cut: false }
}

fn reasoning(bytes: usize) -> MessagePart {
    MessagePart::Reasoning { text: "y".repeat(bytes), parent_id: None, cut: false }
}

/// The parts as they are stored, and their bytes.
fn fitted(parts: Vec<MessagePart>) -> (Vec<MessagePart>, usize) {
    let message = StoredMessage { parts, ..message(String::new(), 0, "") };
    let fitted = fit_message(message).unwrap();
    let bytes = parts_text(&fitted).unwrap().unwrap().len();
    assert!(bytes <= PARTS_BYTES, "{bytes}");
    (fitted.parts, bytes)
}

/// The length of each text without its mark, and whether it has one.
fn lengths(parts: &[MessagePart]) -> Vec<(usize, bool)> {
    let length = |part: &MessagePart| match part {
        MessagePart::Text { text, cut, .. } | MessagePart::Reasoning { text, cut, .. } => {
            assert_eq!(text.ends_with(CUT_MARK), *cut);
            (text.trim_end_matches(CUT_MARK).len(), *cut)
        }
        MessagePart::Call { .. } => (0, false),
        MessagePart::Summary { text } => (text.as_ref().map_or(0, String::len), false),
    };
    parts.iter().map(length).collect()
}

#[test]
fn parts_are_cut_just_beyond_their_limit() {
    let around = serde_json::to_string(&[reasoning(0), text(0, None)]).unwrap().len();
    let room = PARTS_BYTES - around;
    let exact = vec![reasoning(10_000), text(room - 10_000, None)];
    assert_eq!(fitted(exact.clone()), (exact, PARTS_BYTES), "up to the limit they stay as they are");
    let (parts, _) = fitted(vec![reasoning(10_000), text(room - 9_999, None)]);
    assert_eq!(lengths(&parts), [(4_000, true), (room - 9_999, false)], "reasoning goes first");

    let (parts, _) = fitted(vec![reasoning(9_000), text(9_000, Some("call")), text(room - 5_000, None)]);
    assert_eq!(lengths(&parts), [(0, true), (4_000, true), (room - 5_000, false)], "then text within calls");
}

#[test]
fn an_answer_beyond_the_limit_is_cut_at_its_end_and_says_so() {
    let (parts, bytes) =
        fitted(vec![text(1_000, None), reasoning(5_000), text(500_000, None), text(5, None)]);
    assert_eq!(lengths(&parts)[..2], [(1_000, false), (0, true)]);
    assert!(parts.len() == 3 && lengths(&parts)[2].1, "the last text says so");
    assert!(bytes > PARTS_BYTES - 100, "the room is used: {bytes}");

    // Characters that are six bytes as JSON, and more calls than there is room for.
    let worst = MessagePart::Text { text: worst(400_000), parent_id: None, cut: false };
    let call = |n: usize| MessagePart::Call {
        tool_call_id: format!("call_0123456789abcdef_{n}"),
        parent_id: None,
        args: None,
        result: None,
        sources: Vec::new(),
    };
    let (parts, bytes) = fitted(vec![worst]);
    assert!(lengths(&parts)[0].0 > 58_000 && bytes > PARTS_BYTES - 100, "{bytes}");
    let calls = (0..10_000).map(call);
    let (parts, _) = fitted([text(10, None)].into_iter().chain(calls).chain([text(10, None)]).collect());
    assert_eq!(lengths(&parts)[0], (10, true), "the text before the missing end says so");
    assert!(parts.len() > 5_000 && parts.len() < 10_000);
}

// B-103: a plan comes back from storage as it was, for as long as that fits.
#[test]
fn plans_are_kept_with_their_tree() {
    let plan = |text: &str| Plan {
        id: "plan".to_owned(),
        objective: text.to_owned(),
        reasoning: text.to_owned(),
        context_type: "project".to_owned(),
        entity_id: None,
        intent_label: None,
        execution_mode: ExecutionMode::AgentReview,
        requested_outputs: vec![text.to_owned(); 20],
        priority_entities: Vec::new(),
        status: PlanStatus::PendingReview,
        steps: (0..12).map(|n| step(n, text)).collect(),
        review: Some(PlanReview { verdict: Verdict::NeedsChanges, notes: text.to_owned() }),
        revision: 1,
        created_at: 1,
    };
    let fitted = |plans: Vec<Plan>, nodes: usize| {
        let mut message = message(String::new(), nodes, "x");
        message.execution_tree.as_mut().unwrap().plans = plans;
        fit_message(message).unwrap().execution_tree.unwrap()
    };
    let long = "x".repeat(4_000);
    let tree = fitted(vec![plan("short"), plan(&long)], 10);
    assert_eq!(tree.plans[0], plan("short"));
    assert_eq!((tree.plans[1].reasoning.len(), tree.plans[1].requested_outputs.len()), (4_000, 20));
    assert_eq!(tree.plans[1].steps[11].instructions.chars().count(), PREVIEW_CHARS + 1);
    // As many plans as a turn may make, each as long as a plan may be.
    let tree = fitted(vec![plan(&worst(4_000)); 8], 200);
    assert!(serde_json::to_string(&tree).unwrap().len() <= TREE_BYTES);
    assert_eq!((tree.nodes.len(), tree.plans.len(), tree.plans[7].steps.len()), (200, 8, 12));
    let tree = fitted(vec![plan(&worst(4_000)); 100], 200);
    assert!(serde_json::to_string(&tree).unwrap().len() <= TREE_BYTES);
    assert_eq!((tree.nodes.len(), tree.plans.len()), (200, 0));
}

fn step(n: usize, text: &str) -> PlanStep {
    PlanStep {
        id: format!("step-{n}"),
        title: text.chars().take(200).collect(),
        instructions: text.to_owned(),
        depends_on: Vec::new(),
        tool: None,
        status: StepStatus::Pending,
    }
}

// Long: the longest of everything that the row of a turn's end has.
#[test]
fn rows_for_d1_fit_after_any_turn() {
    let content = worst(CONTENT_BYTES);
    let parts =
        (0..60).map(|_| MessagePart::Text { text: "\\\"".repeat(100_000), parent_id: None, cut: false });
    let message = StoredMessage { parts: parts.collect(), ..message(content, 10_000, "\\\"\\\"") };
    let mut message = fit_message(message).unwrap();
    let name: String = worst(1_000).chars().take(LEFT_CHARS).collect();
    let left = LeftUndone { name: Some(name.clone()), title: Some(name), begun: true };
    message.stop =
        Some(StopNote { left: vec![left; MAX_LEFT], ..StopNote::new("budget_exceeded", "Enough.") });
    let (stop, parts) = (json_text(&message.stop).unwrap(), parts_text(&message).unwrap());
    let texts = [CONTENT_BYTES, parts.unwrap().len(), TREE_BYTES, MAX_BYTES, stop.unwrap().len()];
    assert!(texts.iter().sum::<usize>() < LIMIT - 20_000, "a row of the object: {texts:?}");
    let tool = |n: usize| CallRecord::Tool {
        id: format!("call_0123456789abcdef_{n}"),
        tool_name: worst(1_000),
        duration_ms: 1,
        is_error: true,
        detail: None,
        refused: true,
    };
    let model = |n: usize| CallRecord::Model {
        id: format!("model_{n}"),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        operation_type: "chat".to_owned(),
        profile: "speed".to_owned(),
        input_tokens: 1,
        cached_tokens: 0,
        output_tokens: 1,
        cost_usd: None,
        first_byte_ms: None,
        duration_ms: 1,
        retries: 0,
        outcome: "ok".to_owned(),
    };
    let records: Vec<CallRecord> = (0..20_000).map(tool).chain((0..60).map(model)).collect();
    let records = fit_calls(records).unwrap();
    let models = records.iter().filter(|record| matches!(record, CallRecord::Model { .. })).count();
    assert_eq!(models, 60, "all model calls are kept");
    assert!(records.len() > 500 && serde_json::to_string(&records).unwrap().len() < CALLS_BYTES + 100_000);
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m".to_owned(),
        context_type: "thread".to_owned(),
        created_at: 1,
        records,
        used: None,
        execution_mode: None,
    };
    let thread = ThreadRow { title: "t".to_owned(), created_at: 1, updated_at: 2, state: None };
    let owner = Owner { issuer: "key".to_owned(), tenant: "t".to_owned(), user: "u".to_owned() };
    // The longest question that goes with the end of its turn.
    let content = worst(CONTENT_BYTES / 6);
    let question =
        StoredMessage { execution_tree: None, parts: Vec::new(), stop: None, content, ..message.clone() };
    let question = Some(Box::new(question));
    let outgoing = Outgoing::new(&owner, "thread", News::TurnEnded { thread, question, message, calls });
    assert!(serde_json::to_string(&outgoing).unwrap().len() < LIMIT, "a row of the outbox");
    for statement in statements(&[outgoing]).unwrap() {
        rows_of(&[statement.rows]);
    }
}

#[test]
fn the_last_resort_of_a_history_fits_as_well() {
    let user = |text: String| Message::User { content: text.into() };
    // A note of the service may stand before the question, and remarks of hooks behind the first reply.
    let answer = Message::Assistant { content: "x".repeat(3_000_000), tool_calls: Vec::new(), raw: None };
    let history =
        vec![user("[Added.]".to_owned()), user(worst(100_000)), answer, user("a remark".to_owned())];
    let json = fit(&history, MAX_BYTES).unwrap();
    assert!(json.len() <= MAX_BYTES, "{}", json.len());
    let read: Vec<Message> = serde_json::from_str(&json).unwrap();
    let [Message::User { content: asked }, Message::Assistant { content, .. }] = read.as_slice() else {
        panic!("{}", json!(read))
    };
    assert!(worst(100_000).starts_with(asked.text().get(..1_000).unwrap()));
    assert!(content.ends_with("[shortened: 3000000 bytes in all]"));
}
