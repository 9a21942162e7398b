//! `run_subtask`: nesting, isolation, the input of a child and its result.

use serde_json::json;

use crate::testing::*;
use wire::model::{Message, ModelErrorKind, ReplyFinish};
use wire::protocol::FinishReason;

fn requests_of(case: &Case, instructions: &str) -> Vec<wire::model::ModelRequest> {
    let requests = case.model.requests.borrow();
    let is = |request: &&wire::model::ModelRequest| matches!(&*request.messages[0], Message::User { content } if content == instructions);
    requests.iter().filter(is).cloned().collect()
}

// N-042 N-054 N-055 N-057 N-058 N-065 N-074 N-112 N-113 N-192
#[test]
fn a_child_runs_inside_its_call() {
    let child = vec![Reply::TextAndCalls("Looking. ", vec![("echo", json!({}))]), Reply::Text("found it")];
    let key = "task:call_";
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![subtask("a")]),
                Reply::Calls(vec![("memory_list", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("a", child),
    ]))
    .run();
    assert_eq!(
        case.lines()[2..],
        [
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:run_subtask",
            "tool 0.0 run_subtask Start",
            "model 0.0-0 start in 0.0 depth 1",
            "chunk 0.0-0.0 \"Looking. \" in 0.0 depth 1",
            "chunk 0.0-0.0 \"\" done in 0.0 depth 1",
            "model 0.0-0 End tool_calls in 0.0 depth 1",
            "tool 0.0-0.0 echo Start in 0.0 depth 1",
            "tool 0.0-0.0 echo End \"echo {}\" in 0.0 depth 1",
            "model 0.0-1 start in 0.0 depth 1",
            "chunk 0.0-1.0 \"found \" in 0.0 depth 1",
            "chunk 0.0-1.0 \"it\" in 0.0 depth 1",
            "chunk 0.0-1.0 \"\" done in 0.0 depth 1",
            "model 0.0-1 End stop in 0.0 depth 1",
            "tool 0.0 run_subtask End \"found it\"",
            "state thinking",
            "model 1 start",
            "model 1 End tool_calls",
            "state executing_tool:memory_list",
            "tool 1.0 memory_list Start",
            &format!(
                "tool 1.0 memory_list End \"task:{} (8 bytes)\"",
                case.end().message.execution_tree.unwrap().nodes[0].id
            ),
            "state thinking",
            "model 2 start",
            "chunk 2.0 \"Done.\"",
            "chunk 2.0 \"\" done",
            "model 2 End stop",
            "cost 5 llm 3 tools 1 subtasks",
            "done Stop",
        ]
    );
    assert!(case.lines().iter().any(|line| line.contains(key)));
    let first = &requests_of(&case, "a")[0];
    assert_eq!(first.messages.len(), 1, "a child sees its instructions and nothing else");
    let node = &case.end().message.execution_tree.unwrap().nodes[0];
    assert_eq!(node.title.as_deref(), Some("do a"));
}

// N-011 N-059 N-138 N-178 N-193 N-223 N-120
#[test]
fn a_subtask_beyond_the_depth_limit_is_refused() {
    let down = |next| vec![Reply::Calls(vec![subtask(next)]), Reply::Text("back")];
    let case =
        Case::new(script(&[("go", down("1")), ("1", down("2")), ("2", down("3")), ("3", down("4"))])).run();
    let lines = case.lines();
    let deepest = lines.iter().filter(|line| line.starts_with("tool 0.0-0.0-0.0-0.0 ")).collect::<Vec<_>>();
    assert_eq!(deepest.len(), 2);
    assert!(deepest[1].contains("End error \"depth limit: subtasks may nest 3 deep"), "{}", deepest[1]);
    assert!(!lines.iter().any(|line| line.starts_with("budget")));
    assert_eq!(case.end().message.usage.unwrap().subtasks, 3);
    let offered = |at: &str| requests_of(&case, at)[0].tools.iter().any(|tool| tool.name == "run_subtask");
    assert!(offered("2") && !offered("3"), "at the greatest depth it is not even offered");
}

// N-056 N-066 N-067
#[test]
fn a_child_gets_a_subset_of_its_parents_tools() {
    let call = |instructions: &str, tools: serde_json::Value| {
        ("run_subtask", json!({"title": "t", "instructions": instructions, "tools": tools}))
    };
    let narrowed = vec![Reply::Calls(vec![call("b", json!(["echo", "memory_read"]))]), Reply::Text("from a")];
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![call("a", json!(["run_subtask", "memory_read", "secret"]))]),
                Reply::Text("Done."),
            ],
        ),
        ("a", narrowed),
        ("b", vec![Reply::Text("from b")]),
    ]))
    .run();
    let names =
        |at: &str| requests_of(&case, at)[0].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names("a"), ["run_subtask", "memory_read"]);
    assert_eq!(names("b"), ["memory_read"]);
    let lines = case.lines().join("\n");
    assert!(lines.contains("left out: secret]"), "{lines}");
    assert!(lines.contains("left out: echo]"), "{lines}");
}

// N-064 N-198
#[test]
fn a_call_without_its_arguments_starts_no_child() {
    for (arguments, told) in [
        (json!({"instructions": "x"}), "invalid arguments at title: it is missing"),
        (json!({"title": "x"}), "invalid arguments at instructions: it is missing"),
        (json!({"title": "x", "instructions": " "}), "must not be blank"),
        (json!({"title": "x", "instructions": {"go": true}}), "invalid arguments at instructions"),
        (json!("{"), "invalid arguments"),
    ] {
        let case = Case::new(script(&[(
            "go",
            vec![Reply::Calls(vec![("run_subtask", arguments)]), Reply::Text("Hm.")],
        )]));
        let case = case.run();
        let lines = case.lines().join("\n");
        assert!(lines.contains("run_subtask End error") && lines.contains(told), "{lines}");
        assert_eq!(case.end().message.usage.unwrap().llm_calls, 2, "no child was entered");
        assert!(case.end().message.execution_tree.unwrap().nodes[0].title.is_some());
    }
}

// N-053 N-139 N-177 N-194
#[test]
fn an_endless_subtask_is_an_error_result_and_an_endless_root_ends_the_turn() {
    let endless = vec![Reply::Calls(vec![("echo", json!({}))])];
    let child = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Anyway.")]),
        ("a", endless.clone()),
    ]))
    .run();
    assert!(child.lines().join("\n").contains("\\\"error\\\":\\\"iteration_limit\\\""));
    assert_eq!(child.end().message.finish_reason, Some(FinishReason::Stop));
    assert_eq!(requests_of(&child, "a").len(), 20);

    let root = Case::new(script(&[("go", endless)])).run();
    assert_eq!(root.model.requests.borrow().len(), 20);
    let lines = root.lines();
    assert_eq!(
        lines[lines.len() - 3..],
        ["error iteration_limit", "cost 20 llm 20 tools 0 subtasks", "done Error"]
    );
}

// N-173: two interleaved streams of one provider stay apart.
#[test]
fn children_that_speak_at_the_same_time_are_not_mixed() {
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("Both.")]),
        ("a", vec![Reply::Think("a1 a2 ", "one two three")]),
        ("b", vec![Reply::Text("uno due tre")]),
    ]))
    .run();
    let lines = case.lines();
    let spoken: Vec<&str> =
        lines.iter().filter(|line| line.starts_with("chunk 0.")).filter_map(|line| line.get(6..9)).collect();
    assert!(
        spoken.windows(3).any(|three| three == ["0.0", "0.1", "0.0"]),
        "they do come interleaved: {spoken:?}"
    );
    assert!(lines.contains(&"tool 0.0 run_subtask End \"one two three\"".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"tool 0.1 run_subtask End \"uno due tre\"".to_owned()), "{lines:#?}");
}

// N-074: a result that was cut short is marked as such.
#[test]
fn a_cut_reply_of_a_subtask_is_marked() {
    let reply = |finish| vec![Reply::Ended("half a re", finish)];
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("So.")]),
        ("a", reply(ReplyFinish::Length)),
        ("b", reply(ReplyFinish::ContentFilter)),
    ]))
    .run();
    let lines = case.lines().join("\n");
    for told in ["cut here, at its greatest length]", "content filter ended the reply here]"] {
        assert!(lines.contains("End \"half a re\\n\\n[The ") && lines.contains(told), "{lines}");
    }
}

// N-180 N-045
#[test]
fn a_provider_that_fails_a_child_is_an_error_result() {
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("One of two.")]),
        ("a", vec![Reply::Fail("half ", ModelErrorKind::Overloaded)]),
        ("b", vec![Reply::Text("fine")]),
    ]))
    .run();
    let lines = case.lines().join("\n");
    assert!(
        lines.contains("tool 0.0 run_subtask End error \"{\\\"error\\\":\\\"provider_overloaded\\\""),
        "{lines}"
    );
    assert!(lines.contains("tool 0.1 run_subtask End \"fine\""), "{lines}");
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
}
