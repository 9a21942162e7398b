//! The journal's entries, as they come back from their rows.

use std::rc::Rc;

use super::plan;
use engine::journal::{Answer, Entry, Fact, ModelOutcome, Setting, ToolEnd, TurnSpec, TurnStop};
use engine::profiles::{Chain, Limits, MostTokens, Price, PricedModel};
use engine::toolbelt::{PermissionClass, Reads, RunsAt, Serves, ToolPolicy, ToolSpec};
use wire::model::{
    ModelChoice, ModelError, ModelErrorKind, ModelReply, RawMessage, RawValueEq, ReplyFinish, ToolCall, Usage,
};
use wire::protocol::{Awaited, BudgetReason, ContextKind, Place};

/// The journal comes back after a crash as it was written, the raw JSON of schemas and providers byte for byte.
// Long: it has an entry of each kind.
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
        usage: Some(Usage { input_tokens: 1, cached_tokens: 2, output_tokens: 3, ..Usage::default() }),
        raw: Some(RawMessage::of(
            &ModelChoice::new("openai", "m"),
            "chat",
            raw("{ \"b\": 1.0, \"a\":\"\\u00fc\" }"),
        )),
    };
    let error = ModelError::new(ModelErrorKind::Overloaded, "busy");
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
        given_schema: Some("{\"z\":1,\"a\":2}".to_owned()),
        permission_class: None,
        parallel_safe: true,
        exclusive_lock: None,
        read_only: false,
        idempotent: true,
        mcp_server: Some("docs".to_owned()),
        mcp_tool: Some("search".to_owned()),
        client_name: Some("Search".to_owned()),
        timeout_ms: Some(1),
        costs: false,
        runs_at: RunsAt::Client,
        ask: true,
        serves: Some(Serves::WebSearch),
        reads: Some(Reads::WorkspaceFile),
    };
    let mut tools = vec![spec.clone()];
    spec.permission_class = Some(PermissionClass::Safe);
    tools.push(spec);
    let offer = |model: &str| PricedModel {
        choice: Rc::new(ModelChoice::new("openai", model.to_owned())),
        price: (model == "m").then_some(Price::flat(1.0, 0.1, 2.5)),
        most_tokens: (model == "m").then_some(MostTokens::default()),
    };
    let started = TurnSpec {
        format: engine::journal::FORMAT,
        least_reader: engine::journal::LEAST_READER,
        estimates: 0,
        marks: 0,
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
        summary: None,
        last_request: None,
        retrieved: Some("r".to_owned()),
        replaces_message_id: Some("m".to_owned()),
        created_at: 8,
    };
    let tool_end = ToolEnd {
        refused: false,
        agents: Vec::new(),
        session: None,
        content: "c".to_owned(),
        is_error: true,
        partial: true,
        overlay: [("k".to_owned(), "v".to_owned())].into(),
        versions: Default::default(),
        hook: None,
        addresses: vec!["https://a.example/".to_owned()],
        duration_ms: 1,
        paid_microusd: Some(40_000),
    };
    let facts = [
        Fact::Started(Box::new(started)),
        Fact::ModelStarted {
            digest: "d".to_owned(),
            attempt: 1,
            place: place.clone(),
            held: Usage { input_tokens: 4, output_tokens: 5, ..Usage::default() },
            cut: None,
            held_microusd: Some(6),
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
        Fact::Waiting {
            on: Awaited::Approval,
            place: place.clone(),
            since: 1,
            until: 2,
            limit: None,
            asking: None,
        },
        Fact::InputGiven,
        Fact::Answered { on: Awaited::Client, answer: Answer::Expired, at_ms: 3, reason: None },
        Fact::Answered {
            on: Awaited::Client,
            answer: Answer::Result { content: "c".to_owned(), is_error: true },
            at_ms: 3,
            reason: Some("r".to_owned()),
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
