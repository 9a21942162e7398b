//! Subtasks with an `output_schema`.

use serde_json::{Value, json};

use crate::profiles::Chain;
use crate::testing::*;
use wire::model::{Capabilities, Message, ModelRequest, ToolChoice};

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn asks(schema: &Value) -> Reply {
    Reply::Calls(vec![("run_subtask", json!({"title": "s", "instructions": "a", "output_schema": schema}))])
}

fn finishes(payload: Value) -> Reply {
    Reply::Calls(vec![("finish_subtask", payload)])
}

/// The result of the root's only subtask, whose level gives these replies.
fn result(replies: Vec<Reply>) -> (Case, String, bool) {
    let case =
        Case::new(script(&[("go", vec![asks(&schema()), Reply::Text("Done.")]), ("a", replies)])).run();
    let found = case.end().history.iter().find_map(|message| match message {
        Message::Tool { content, is_error, .. } => Some((content.clone(), *is_error)),
        _ => None,
    });
    let (content, is_error) = found.unwrap();
    (case, content, is_error)
}

fn childs_requests(case: &Case) -> Vec<ModelRequest> {
    let requests = case.model.requests.borrow();
    let is_child = |request: &&ModelRequest| matches!(&*request.messages[0], Message::User { content } if content == "a");
    requests.iter().filter(is_child).cloned().collect()
}

// N-060 N-061 N-062 N-068 N-196
#[test]
fn a_valid_payload_ends_the_level() {
    let (case, content, is_error) = result(vec![finishes(json!({"n": 1})), Reply::Text("never")]);
    assert_eq!((content.as_str(), is_error), ("{\"n\":1}", false));
    let requests = childs_requests(&case);
    assert_eq!(requests.len(), 1, "no model call after a valid finish");
    let offered = requests[0].tools.iter().find(|tool| tool.name == "finish_subtask").unwrap();
    assert_eq!(offered.input_schema.0.get(), schema().to_string());
    assert!(requests[0].system.contains("finish_subtask"));
    let root = &case.model.requests.borrow()[0];
    assert!(!root.tools.iter().any(|tool| tool.name == "finish_subtask"));
}

// N-170
#[test]
fn a_structured_subtask_asks_no_model_that_cannot_call() {
    let case = Case::new(script(&[("go", vec![asks(&schema()), Reply::Text("Done.")]), ("a", vec![])]));
    let mute = Capabilities { tools: false, ..Capabilities::default() };
    let mut case = case;
    case.subtask_chain = Some(Chain { first: offer("mute", mute), then: vec![] });
    let case = case.run();
    assert_eq!(childs_requests(&case).len(), 0);
    let line = case.lines().into_iter().find(|line| line.starts_with("tool 0.0 run_subtask End")).unwrap();
    assert!(line.contains("error") && line.contains("schema_not_satisfied"), "{line}");
    assert!(line.contains("cannot call tools"), "{line}");
}

// N-072 N-073 N-182 N-196
#[test]
fn three_invalid_payloads_are_forgiven_and_the_fourth_is_not() {
    let invalid = || finishes(json!({"n": "one"}));
    let (case, content, is_error) = result(vec![invalid(), invalid(), invalid(), finishes(json!({"n": 4}))]);
    assert_eq!((content.as_str(), is_error), ("{\"n\":4}", false));
    let second = &childs_requests(&case)[1];
    let Message::Tool { content, is_error: true, .. } = &**second.messages.last().unwrap() else { panic!() };
    assert!(content.contains("/n: "), "the model reads what was wrong: {content}");

    let (case, content, is_error) = result(vec![invalid()]);
    assert!(is_error && content.contains("\"error\":\"schema_not_satisfied\""), "{content}");
    assert_eq!(childs_requests(&case).len(), 4);
}

// N-069 N-070
#[test]
fn prose_is_not_a_result() {
    let (case, content, is_error) = result(vec![Reply::Text("It is 1.")]);
    assert!(is_error && content.contains("schema_not_satisfied"), "{content}");
    assert_eq!(childs_requests(&case).len(), 20);
    let choices: Vec<ToolChoice> =
        childs_requests(&case).iter().map(|request| request.tool_choice).take(2).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Required], "after prose the model is made to call");
    let (_, content, is_error) = result(vec![Reply::Text("It is 1."), finishes(json!({"n": 1}))]);
    assert_eq!((content.as_str(), is_error), ("{\"n\":1}", false));
}

// N-145: JSON that was cut is not JSON any more.
#[test]
fn a_payload_too_long_for_a_result_is_refused() {
    let payload = |text_bytes: usize| finishes(json!({"n": 1, "text": "x".repeat(text_bytes)}));
    let frame = json!({"n": 1, "text": ""}).to_string().len();
    let (_, content, is_error) = result(vec![payload(50_000 - frame)]);
    assert_eq!((content.len(), is_error), (50_000, false));
    let (case, content, is_error) = result(vec![payload(50_001 - frame), finishes(json!({"n": 2}))]);
    assert_eq!((content.as_str(), is_error), ("{\"n\":2}", false));
    assert!(case.lines().iter().any(|line| line.contains("has 50001 bytes, the limit is 50000: shorten it")));
}

#[test]
fn a_payload_that_is_called_error_is_data() {
    let (case, content, is_error) = result(vec![finishes(json!({"n": 1, "error": "schema_not_satisfied"}))]);
    assert!(!is_error && content.contains("schema_not_satisfied"));
    assert!(case.lines().iter().all(|line| !line.contains("End error")));
}

// N-061 N-062
#[test]
fn finish_subtask_is_refused_without_a_schema() {
    let case = Case::new(script(&[
        ("go", vec![finishes(json!({})), Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
        ("a", vec![finishes(json!({})), Reply::Text("ok")]),
    ]))
    .run();
    let refused = case.lines().iter().filter(|line| line.contains("finish_subtask End error")).count();
    assert_eq!(refused, 2);
}

// N-056 N-061
#[test]
fn a_child_of_a_structured_subtask_has_no_finish_subtask() {
    let case = Case::new(script(&[
        ("go", vec![asks(&schema()), Reply::Text("Done.")]),
        ("a", vec![Reply::Calls(vec![subtask("b")]), finishes(json!({"n": 1}))]),
        ("b", vec![Reply::Text("plain")]),
    ]))
    .run();
    let requests = case.model.requests.borrow();
    let of_b =
        requests.iter().find(|r| matches!(&*r.messages[0], Message::User { content } if content == "b"));
    assert!(!of_b.unwrap().tools.iter().any(|tool| tool.name == "finish_subtask"));
}

#[test]
fn a_bad_schema_is_refused_before_the_child_begins() {
    for schema in [json!({"type": "array"}), json!({"type": "object", "$ref": "https://example.com/s"})] {
        let case = Case::new(script(&[("go", vec![asks(&schema), Reply::Text("Hm.")])])).run();
        let lines = case.lines().join("\n");
        assert!(lines.contains("invalid arguments at output_schema"), "{lines}");
        assert_eq!(case.end().message.usage.unwrap().llm_calls, 2);
    }
}
