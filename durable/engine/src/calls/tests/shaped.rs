//! Turns whose request wants a shape of the answer: JSON of a schema, a call of a client's tool first.
//!
//! N-060 N-069 N-072 N-073. Issue 51, 1

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::calls::answer;
use crate::hooks::tests::answers::judging;
use crate::hooks::tests::verdict;
use crate::journal::{Answer, TurnStop};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::toolbelt::ToolPolicy;
use crate::turn::Ran;
use crate::turn::tests::faults::killed_at_every_commit;
use wire::model::{Message, ModelRequest, RawValueEq, ToolChoice};
use wire::protocol::{ApiError, Awaited, ChatRequest, ClientTool, ContextKind, Event, FinishReason};

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn raw(schema: &Value) -> RawValueEq {
    RawValueEq(serde_json::value::to_raw_value(schema).unwrap())
}

fn gives(payload: Value) -> Reply {
    Reply::Calls(vec![("give_answer", payload)])
}

/// A turn whose answer satisfies the schema, and whose root gives these replies.
fn shaped(replies: Vec<Reply>) -> Case {
    let mut case = Case::new(script(&[("go", replies), ("a", vec![Reply::Text("a done")])]));
    case.setting.shape = answer::shape(Some(&raw(&schema())), None).map(Box::new);
    case
}

/// The same with the client's tools `ui_paste` and `ui_cut`, of which it wants the first called.
fn forced(replies: Vec<Reply>, schema: Option<&Value>) -> Case {
    let mut case = Case::new(script(&[("go", replies)]));
    let tool = |name: &str| ClientTool {
        name: name.to_owned(),
        client_name: None,
        description: "Acts.".to_owned(),
        input_schema: Default::default(),
    };
    case.client_tools = vec![tool("ui_paste"), tool("ui_cut")];
    case.clients_at_once = true;
    case.policy = ToolPolicy::of(ContextKind::Editor);
    case.offered_by = case.policy.clone();
    let calls = ["ui_paste".to_owned()];
    case.setting.shape = answer::shape(schema.map(raw).as_ref(), Some(&calls)).map(Box::new);
    case
}

/// All members of a shape, and each way of its turn: prose, a wrong call, the client's call, a wrong answer, the answer.
pub(crate) fn golden() -> Case {
    forced(
        vec![
            Reply::Text("It is 1."),
            gives(json!({"n": 1})),
            Reply::Calls(vec![("ui_paste", json!({}))]),
            gives(json!({"n": "one"})),
            gives(json!({"n": 1})),
        ],
        Some(&schema()),
    )
}

fn answer_client(case: &mut Case, key: &str) {
    let result = Answer::Result { content: "done".to_owned(), is_error: false };
    let id = WireIds::new("turn").tool_call(key);
    case.say(None, |turn| turn.answer(&id, Awaited::Client, result).unwrap());
}

fn choices(case: &Case) -> Vec<ToolChoice> {
    case.model.requests.borrow().iter().map(|request| request.tool_choice).collect()
}

fn error(case: &Case) -> Option<(String, String, bool)> {
    case.seen.values().find_map(|event| match event {
        Event::Error { code, message, retryable } => Some((code.clone(), message.clone(), *retryable)),
        _ => None,
    })
}

// Readers get the answer once it has passed, and no other text; the history has it as words of the model.
#[test]
fn the_json_comes_as_text_once_it_satisfies_the_schema() {
    let case = shaped(vec![
        Reply::TextAndCalls("Let me see.", vec![("echo", json!({}))]),
        gives(json!({"n": "one"})),
        gives(json!({"n": 1})),
        Reply::Text("never"),
    ])
    .run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:echo",
            "tool 0.0 echo Start",
            r#"tool 0.0 echo End "echo {}""#,
            "state thinking",
            "model 1 start",
            "model 1 End tool_calls",
            "state executing_tool:give_answer",
            "state thinking",
            "model 2 start",
            "model 2 End tool_calls",
            "state executing_tool:give_answer",
            r#"chunk 2.0 "{\"n\":1}" done"#,
            "cost 3 llm 3 tools 0 subtasks",
            "done Stop",
        ]
    );
    let end = case.end();
    assert_eq!(end.message.content, r#"{"n":1}"#);
    assert!(end.message.execution_tree.unwrap().nodes.iter().all(|node| node.name == "echo"));
    let history: Vec<String> = end
        .history
        .iter()
        .map(|message| match message {
            Message::User { content } => content.text().into_owned(),
            Message::Assistant { content, tool_calls, .. } => format!("{content}|{}", tool_calls.len()),
            Message::Tool { content, .. } => content.clone(),
        })
        .collect();
    assert_eq!(history, ["go", "|1", "echo {}", r#"{"n":1}|0"#]);
    let requests = case.model.requests.borrow();
    let offered = requests[0].tools.iter().find(|tool| tool.name == "give_answer").unwrap();
    assert_eq!(offered.input_schema.0.get(), schema().to_string());
    assert!(requests[0].system.contains("You must end by calling give_answer"));
    assert_eq!(choices(&case), [ToolChoice::Auto; 3]);
}

// A long answer comes in chunks that a page can draw.
#[test]
fn a_long_answer_comes_in_chunks() {
    let long = json!({"n": 1, "text": "x".repeat(10_000)});
    let case = shaped(vec![gives(long.clone())]).run();
    let chunks: Vec<usize> = case
        .seen
        .values()
        .filter_map(|event| match event {
            Event::Chunk { content, .. } => Some(content.len()),
            _ => None,
        })
        .collect();
    assert_eq!(chunks[..2], [4096, 4096]);
    assert_eq!(case.end().message.content, long.to_string());
}

// Three misses are forgiven, whether prose or a wrong payload, and the fourth is not.
#[test]
fn the_fourth_miss_ends_the_turn() {
    let prose = || Reply::Text("It is 1.");
    let wrong = || gives(json!({"n": "one"}));
    let case = shaped(vec![prose(), wrong(), prose(), gives(json!({"n": 4}))]).run();
    assert_eq!(case.end().message.content, r#"{"n":4}"#);
    let (auto, required) = (ToolChoice::Auto, ToolChoice::Required);
    assert_eq!(choices(&case), [auto, required, auto, required], "after prose the model is made to call");
    let texts: Vec<String> = case.end().history.iter().map(|message| format!("{message:?}")).collect();
    assert!(
        texts.iter().all(|text| !text.contains("It is 1.") && !text.contains("only counts")),
        "{texts:#?}"
    );

    for (replies, why) in
        [(vec![prose()], "give_answer was never called"), (vec![prose(), prose(), prose(), wrong()], "/n: ")]
    {
        let case = shaped(replies).run();
        assert_eq!(case.model.requests.borrow().len(), 4);
        let end = case.end();
        assert_eq!(
            (end.message.content.as_str(), end.message.finish_reason),
            ("", Some(FinishReason::Error))
        );
        let (code, message, retryable) = error(&case).unwrap();
        assert_eq!((code.as_str(), retryable), ("shape_missed", false));
        assert!(message.contains(why), "{message}");
        assert!(!case.seen.values().any(|event| matches!(event, Event::Chunk { .. })));
    }
}

#[test]
fn a_root_at_its_limit_of_calls_says_what_is_missing() {
    let case =
        shaped(vec![Reply::Calls(vec![("echo", json!({}))])]).limits(|limits| limits.iterations = 2).run();
    assert_eq!(error(&case).unwrap().0, "shape_missed");
}

#[test]
fn levels_below_have_no_such_call() {
    let case = shaped(vec![Reply::Calls(vec![subtask("a")]), gives(json!({"n": 1}))]).run();
    let requests = case.model.requests.borrow();
    let of_child = |request: &&ModelRequest| request.system.contains("one subtask");
    let child = requests.iter().find(of_child).unwrap();
    assert!(child.tools.iter().all(|tool| tool.name != "give_answer"), "{:?}", child.tools);
}

// A-111: the answer's hooks judge the JSON. What they block is left nowhere.
#[test]
fn hooks_judge_the_json() {
    let (rude, kind) = (r#"{"n":1,"text":"fool"}"#, r#"{"n":2}"#);
    let mut levels = BTreeMap::new();
    levels.insert("go".to_owned(), vec![gives(json!({"n": 1, "text": "fool"})), gives(json!({"n": 2}))]);
    levels.insert(format!("be kind {rude}"), vec![verdict("block", "that is rude")]);
    levels.insert(format!("be kind {kind}"), vec![verdict("allow", "")]);
    let mut case = crate::hooks::tests::hooked(judging("be kind"), levels);
    case.setting.shape = answer::shape(Some(&raw(&schema())), None).map(Box::new);
    let case = case.run();
    let end = case.end();
    assert_eq!(end.message.content, kind);
    let told: Vec<String> = case.seen.values().map(|event| format!("{event:?}")).collect();
    assert!(told.iter().all(|event| !event.contains("fool")), "{told:#?}");
    let left = format!("{:?} {:?} {:?}", end.history, end.message, end.calls);
    assert!(!left.contains("fool"), "{left}");
}

// The model is made to call until the client has been asked, then it is free.
#[test]
fn a_forced_call_comes_before_the_answer() {
    let mut case = forced(
        vec![
            Reply::Text("Well."),
            Reply::Calls(vec![("echo", json!({}))]),
            Reply::Calls(vec![("ui_paste", json!({})), ("ui_cut", json!({}))]),
            Reply::Text("Pasted."),
        ],
        None,
    );
    case.run_with(None, |_, _| {});
    assert_eq!(case.ran, Some(Ok(Ran::Parked)));
    assert_eq!(choices(&case), [ToolChoice::Required; 3]);
    let reminder = "Answer only after a call of ui_paste. Make the call now.";
    let last = case.model.requests.borrow()[1].messages.last().cloned().unwrap();
    assert_eq!(*last, Message::User { content: reminder.into() });
    // Both are asked at once, and answered in any order, one by one.
    answer_client(&mut case, "2.1");
    assert_eq!(case.ran, Some(Ok(Ran::Parked)), "the other one is still asked");
    answer_client(&mut case, "2.0");
    case.check();
    assert_eq!(choices(&case).last(), Some(&ToolChoice::Auto));
    assert_eq!(case.end().message.content, "Well.\n\nPasted.");

    let case = forced(vec![Reply::Text("Well.")], None).run();
    let (code, message, _) = error(&case).unwrap();
    assert_eq!(code, "shape_missed");
    assert!(message.ends_with("no call was made of ui_paste"), "{message}");
    assert_eq!(case.model.requests.borrow().len(), 4);
}

#[test]
fn an_answer_before_the_forced_call_is_refused() {
    let mut case = golden();
    case.run_with(None, |_, _| {});
    answer_client(&mut case, "2.0");
    case.check();
    assert_eq!(case.end().message.content, r#"{"n":1}"#);
    assert_eq!(case.model.requests.borrow().len(), 5);
    let Message::Tool { content, is_error: true, .. } =
        &*case.model.requests.borrow()[2].messages.last().cloned().unwrap()
    else {
        panic!()
    };
    assert_eq!(content, "no call was made of ui_paste");
}

// N-190: a run that dies at any of its commits changes nothing of the answer.
#[test]
fn a_kill_at_every_commit_loses_nothing() {
    let looks = || Reply::TextAndCalls("Let me see.", vec![("echo", json!({})), subtask("a")]);
    let again = || Reply::Calls(vec![("locked", json!({}))]);
    let prose = || Reply::Text("It is 1.");
    let begins = || vec![looks(), again(), again(), again(), again(), prose()];
    let answers = || vec![gives(json!({"n": "one"})), gives(json!({"n": 1}))];
    killed_at_every_commit(|| shaped([begins(), answers()].concat()));
    // One that ends without the answer.
    killed_at_every_commit(|| shaped(begins()));
}

// A stop leaves no half of an answer, and no call without its result.
#[test]
fn a_stop_at_any_moment_leaves_the_whole_answer_or_none() {
    for at in 0..60 {
        let mut case = shaped(vec![Reply::Text("It is 1."), gives(json!({"n": 1}))]);
        case.run_with(None, |turn, step| {
            if step == at {
                drop(turn.stop(TurnStop::Cancelled));
            }
        });
        case.check();
        let content = case.end().message.content;
        assert!(content.is_empty() || content == r#"{"n":1}"#, "{content}");
    }
}

fn request(member: &str, value: Value) -> ChatRequest {
    let mut body = json!({"content": "go", "client_tools": [{"name": "ui_paste", "description": "Acts."}]});
    body[member] = value;
    ChatRequest::parse(body.to_string().as_bytes()).unwrap()
}

#[test]
fn a_shape_that_nothing_can_have_is_refused_by_its_member() {
    let checked = |member: &str, value: Value| answer::check(&request(member, value));
    let refused = |result: Result<(), ApiError>, field: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.field.as_deref(), Some(field), "{error:?}");
        error.detail.clone()
    };
    assert!(checked("response_schema", schema()).is_ok());
    assert!(checked("must_call", json!(["ui_paste"])).is_ok());
    for wrong in
        [json!("x"), json!({"type": "array"}), hungry(80), json!({"type": "object", "minProperties": "x"})]
    {
        refused(checked("response_schema", wrong), "response_schema");
    }
    let detail = refused(checked("must_call", json!(["ui_paste", "ui_cut"])), "must_call[1]");
    assert_eq!(detail, "the request brings no tool of this name");
}

// Models write an answer in the order of its schema: reasons before the verdict.
#[test]
fn the_model_gets_the_schema_in_the_order_of_its_members() {
    let declared = |given: &str| {
        let given = RawValueEq(serde_json::value::RawValue::from_string(given.to_owned()).unwrap());
        let shape = answer::shape(Some(&given), None).unwrap();
        Rc::clone(&shape.answer.unwrap().input_schema).0.get().to_owned()
    };
    let members = r#""type":"object","properties":{"why":{"type":"string"},"answer":{"type":"string"}}"#;
    // Libraries name the dialect, which the check of a payload does not know.
    let ordered =
        format!(r#"{{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"A",{members}}}"#);
    assert_eq!(declared(&ordered), format!("{{{members}}}"));
    let given = serde_json::from_str(&ordered).unwrap();
    assert_eq!(answer::check(&request("response_schema", given)), Ok(()));
    let old = r#"{"type":"object","properties":{"b":{"type":"string","nullable":true},"a":{}}}"#;
    assert!(!declared(old).contains("nullable"), "{}", declared(old));
}
