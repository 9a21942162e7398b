//! The Worker and a thread's object of different versions talk to each other.

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::*;
use crate::pace::{Pace, at_once, no_pause};

fn envelope(command: ThreadCommand) -> ThreadEnvelope {
    let owner = Owner { issuer: "key".to_owned(), tenant: "t".to_owned(), user: "u".to_owned() };
    ThreadEnvelope { owner, thread_id: Uuid::nil(), command }
}

fn message(request: &Value) -> ChatCommand {
    let request = ChatRequest::parse(request.to_string().as_bytes()).unwrap();
    // A member without a meaning stays in the Worker.
    let request = ChatRequest { agent_mode: None, tools: None, ..request };
    ChatCommand::new(Uuid::nil(), request, Some(Visitor { address: Some("10.0.0.1".to_owned()) }))
}

fn chat(request: &Value) -> ThreadCommand {
    ThreadCommand::Chat(Box::new(message(request)))
}

/// The same request in a dialect.
fn spoken(follows: Option<Uuid>) -> ThreadCommand {
    let chat = message(&json!({ "content": "Hello" }));
    ThreadCommand::Chat(Box::new(ChatCommand { dialect: Some(Dialect::AiSdk), follows, ..chat }))
}

fn speak(decisions: &[Option<Decision>], turn_id: Option<String>, read: Option<u64>) -> ThreadCommand {
    let answer = |decision| GivenAnswer { id: "a".into(), decision, content: "{}".into(), is_error: true };
    let answers = decisions.iter().copied().map(answer).collect();
    ThreadCommand::Speak { dialect: Dialect::AiSdk, answers, turn_id, read, stop: false, address: None }
}

/// A client of OpenAI's brings its conversation.
fn brought() -> ThreadCommand {
    let (api, form) = (OpenAiApi::ChatCompletions, AnswerForm::Whole);
    let how = OpenAi { api, form, usage: true, background: false, segment: 0, after: None };
    ThreadCommand::Chat(Box::new(ChatCommand {
        dialect: Some(Dialect::OpenAi(how)),
        history: vec!["Before".to_owned(), "Yes.".to_owned()],
        unanswered: Some("And".to_owned()),
        unlisted: true,
        request_digest: Some("0f".to_owned()),
        ..message(&json!({ "content": "Hello" }))
    }))
}

/// It stops a response.
fn stop() -> ThreadCommand {
    let (api, form) = (OpenAiApi::Responses, AnswerForm::Now);
    let how = OpenAi { api, form, usage: false, background: true, segment: 2, after: Some(7) };
    let (answers, turn_id, read) = (Vec::new(), Some("t".to_owned()), Some(0));
    ThreadCommand::Speak { dialect: Dialect::OpenAi(how), answers, turn_id, read, stop: true, address: None }
}

/// A request with everything that a client may send, the names that old clients use included.
fn full() -> Value {
    json!({
        "content": [
            { "type": "text", "text": "Look", "unknown": 1 },
            { "type": "image", "data": "data:image/png;base64,iVBORw0KGgo=" },
        ],
        "thread_id": Uuid::nil(), "turn_id": Uuid::nil(), "request_seq": 7,
        "chat_context": { "kind": "editor", "contextType": "project", "workflowId": "w", "entityId": "e" },
        "mode_profile": "swarm",
        "browser_context": { "activeTabUrl": "https://a.example", "active_tab_title": "A", "tabCount": 2 },
        "cancel_on_disconnect": true, "model": "thinking", "memory_enabled": true, "collections": ["c"],
        "workflow_target": "x", "workflow_id": "y", "media_generation": { "mode": "chat", "any": { "thing": [1.5, null] } },
        "client_tools": [{ "name": "ui_a", "description": "A.", "parameters": { "type": "object" } }],
        "include": ["i"], "replaces_message_id": Uuid::nil(), "workspace": "w", "agents": true,
        "agent_mode": { "a": 1 }, "tools": ["t"], "member_of_tomorrow": { "a": 1 },
    })
}

/// A hook with each of its members.
fn hook() -> Hook {
    let hook = json!({
        "name": "guard", "on": "result", "match": ["echo"], "builtin": "none", "options": { "most": 1 },
        "instructions": "Look.", "reads": ["plan"], "of": "main",
    });
    serde_json::from_value(hook).unwrap()
}

fn dump() -> AgentDump {
    let dump = json!({
        "name": "critic", "instructions": "Be strict.", "tools": ["echo"], "servers": ["s"], "denied": ["d"],
        "heard": ["h"], "hooks": [hook()], "rounds": [[{"user": {"content": "Hello."}}]],
        "speakers": ["hand"], "listeners": ["foot"], "cut": true,
        "agents": [{"name": "hand", "instructions": ""}, {"name": "foot", "instructions": ""}],
    });
    serde_json::from_value(dump).unwrap()
}

// Long: an entry for each command.
#[test]
fn every_command_is_read_as_it_was_sent() {
    let commands = [
        chat(&full()),
        chat(&json!({ "content": "Hello" })),
        chat(&json!({ "content": "Hello", "agent": "critic" })),
        spoken(Some(Uuid::nil())),
        spoken(None),
        speak(&[Some(Decision::Deny), None], Some("t".into()), Some(7)),
        speak(&[], None, None),
        brought(),
        stop(),
        ThreadCommand::Detail,
        ThreadCommand::Messages { limit: 7, cursor: None, all: false },
        ThreadCommand::Messages { limit: 7, cursor: Some("9".into()), all: true },
        ThreadCommand::Choose { turn_id: Uuid::nil() },
        ThreadCommand::Stream { after: 1 << 52 },
        ThreadCommand::Cancel,
        ThreadCommand::ToolResult { tool_call_id: "c".into(), content: "{}".into(), is_error: true },
        ThreadCommand::Approval {
            approval_id: "a".into(),
            decision: Decision::ApproveForThread,
            content: None,
            reason: None,
            address: Some("k.mac".into()),
        },
        ThreadCommand::Approval {
            approval_id: "a".into(),
            decision: Decision::Approve,
            content: Some([("q".to_owned(), serde_json::json!({"n": 1}))].into_iter().collect()),
            reason: Some("Use another site.".into()),
            address: None,
        },
        ThreadCommand::Rename { title: "t".into() },
        ThreadCommand::Hooks,
        ThreadCommand::PutHook { hook: Box::new(hook()) },
        ThreadCommand::DeleteHook { name: "guard".into() },
        ThreadCommand::Sent { message_id: "m".into() },
        ThreadCommand::Excerpt { message_id: "m".into() },
        ThreadCommand::Record { turn_id: Uuid::nil(), whole: true },
        ThreadCommand::Records { limit: 7, cursor: Some("9".into()) },
        ThreadCommand::Export { cursor: Some("agent:7".into()) },
        ThreadCommand::Agents,
        ThreadCommand::AgentRounds { name: "critic".into(), cursor: Some("7".into()) },
        ThreadCommand::DumpAgent { name: "critic".into() },
        ThreadCommand::RestoreAgent { dump: Box::new(dump()), rounds: Vec::new(), below: Vec::new() },
        ThreadCommand::RestoreAgent {
            dump: Box::new(dump()),
            rounds: vec!["[]".into()],
            below: vec![Vec::new(), vec!["[]".into()]],
        },
        ThreadCommand::EndAgent { name: "critic".into() },
        ThreadCommand::StartSession {
            session_id: Uuid::nil(),
            workflow: Box::new(workflow()),
            goal: Some("Find out".into()),
            visitor: Some(Visitor { address: None }),
        },
        ThreadCommand::ContinueSession {
            session_id: Uuid::nil(),
            workflow_id: "procedure".into(),
            ended: Box::new(ended()),
        },
        ThreadCommand::WorkflowSession { from: 4 },
        ThreadCommand::EndSession,
        ThreadCommand::Delete { address: None },
        ThreadCommand::Delete { address: Some("k.mac".into()) },
        ThreadCommand::Erase,
        ThreadCommand::Expire { unused_since: 7 },
        ThreadCommand::Snapshot {
            until: Some("m".to_owned()),
            shown: Shown { tools: true, reasoning: false, files: true },
        },
    ];
    for command in commands {
        let envelope = envelope(command);
        assert_eq!(read(&serde_json::to_string(&envelope).unwrap()), Ok(envelope));
    }
}

fn read(body: &str) -> Result<ThreadEnvelope, ApiError> {
    at_once(ThreadEnvelope::read(body, &Pace::new(&no_pause))).unwrap()
}

// Issue 42, M5: a long request is read in steps.
#[test]
fn others_run_between_the_steps_of_a_long_request() {
    let pauses = std::cell::Cell::new(0);
    let pause = || {
        pauses.set(pauses.get() + 1);
        no_pause()
    };
    for (bytes, expected) in [(1_000, 0), (50_000, 1), (1 << 20, 2)] {
        let envelope = envelope(ThreadCommand::Rename { title: "x".repeat(bytes) });
        let body = serde_json::to_string(&envelope).unwrap();
        pauses.set(0);
        assert_eq!(at_once(ThreadEnvelope::read(&body, &Pace::new(&pause))), Some(Ok(envelope)));
        assert_eq!(pauses.get(), expected, "{bytes}");
    }
}

/// A request of a Worker of another version: this one's, changed.
fn changed(command: ThreadCommand, change: impl FnOnce(&mut Value)) -> Result<ThreadEnvelope, ApiError> {
    let mut sent = serde_json::to_value(envelope(command)).unwrap();
    change(&mut sent);
    read(&sent.to_string())
}

#[test]
fn an_object_refuses_requests_of_a_newer_worker_for_now() {
    type Change = fn(&mut Value);
    let unknown: [(ThreadCommand, Change, &str); 8] = [
        (ThreadCommand::Detail, |sent| sent["command"]["do"] = json!("archive"), "archive"),
        (ThreadCommand::Detail, |sent| sent["command"]["with"] = json!(false), "command.with"),
        (ThreadCommand::Detail, |sent| sent["region"] = json!("eu"), "region"),
        (ThreadCommand::Cancel, |sent| sent["owner"]["group"] = json!("g"), "owner.group"),
        (chat(&full()), |sent| sent["command"]["request"]["budget"] = json!(1), "command.request.budget"),
        (
            chat(&full()),
            |sent| sent["command"]["request"]["chat_context"]["project"] = json!({}),
            "command.request.chat_context.project",
        ),
        (
            chat(&full()),
            |sent| sent["command"]["request"]["client_tools"][0]["ask"] = json!(true),
            "command.request.client_tools.0.ask",
        ),
        (chat(&full()), |sent| sent["command"]["request"]["mode_profile"] = json!("duel"), "duel"),
    ];
    for (command, change, named) in unknown {
        let error = changed(command, change).unwrap_err();
        assert_eq!((error.code.as_str(), error.code.status()), ("versions_differ", 503));
        assert!(error.detail.contains(named), "{named}: {}", error.detail);
        assert_eq!(error.retry_after_s, Some(10));
    }
}

// A null member means absent.
#[test]
fn a_newer_member_without_a_value_changes_nothing() {
    let request = json!({ "content": "Hello" });
    let read = changed(chat(&request), |sent| sent["command"]["request"]["budget"] = Value::Null);
    assert_eq!(read, Ok(envelope(chat(&request))));
}

#[test]
fn members_missing_in_an_older_worker_have_a_default_or_are_refused() {
    let request = json!({ "content": "Hello" });
    let optional = changed(chat(&request), |sent| {
        let request = sent["command"]["request"].as_object_mut().unwrap();
        request.retain(|name, _| name == "content");
    });
    assert_eq!(optional, Ok(envelope(chat(&request))));
    let needed = changed(ThreadCommand::Rename { title: "t".into() }, |sent| {
        sent["command"].as_object_mut().unwrap().remove("title");
    });
    let error = needed.unwrap_err();
    assert_eq!(error.code, ErrorCode::VersionsDiffer);
    assert!(error.detail.contains("title"), "{}", error.detail);
    assert_eq!(read("").unwrap_err().code, ErrorCode::VersionsDiffer);
}

fn workflow() -> WorkflowDetail {
    let step = json!({
        "id": "a", "title": "A", "instructions": "Do it.", "type": "planned", "review": true, "tools": ["calculate"],
        "verifier": { "model": "speed", "threshold": "low" },
    });
    let other = json!({ "id": "b", "title": "B", "instructions": "x", "output_mode": "structured_output" });
    let definition = json!({
        "name": "A procedure", "goal": "g", "steps": [step, other], "stuck": "notify_only",
        "notify": { "url": "https://hook.test" },
    });
    let summary = WorkflowSummary {
        workflow_id: "procedure".into(),
        name: "A procedure".into(),
        steps: 2,
        version: 7,
        built_in: false,
        updated_at: Some(1),
    };
    let definition = WorkflowDefinition::parse(definition.to_string().as_bytes()).unwrap();
    WorkflowDetail { summary, definition, ignored: vec![] }
}

fn ended() -> ContinueSession {
    let body = json!({
        "continue_token": "t", "notesMarkdown": "x".repeat(50), "contextUpdates": { "a": { "b": [1, 2.5] } },
        "artifacts": ["a.md"],
    });
    ContinueSession::parse(body.to_string().as_bytes()).unwrap()
}
