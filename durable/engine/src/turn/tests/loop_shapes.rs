//! The shapes of a turn: a direct answer, one tool call, several calls at once; and the requests of each
//! level.

use serde_json::json;

use crate::testing::*;
use wire::model::{Capabilities, Message, ReplyFinish};
use wire::protocol::{ChunkKind, Event, FinishReason};

// N-001 N-008 N-035 N-040 N-041 N-188 N-221 N-174
#[test]
fn a_direct_answer_takes_one_model_call() {
    let case = Case::new(script(&[("go", vec![Reply::Text("It is four.")])])).run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "model 0 start",
            "chunk 0.0 \"It \"",
            "chunk 0.0 \"is \"",
            "chunk 0.0 \"four.\"",
            "chunk 0.0 \"\" done",
            "model 0 End stop",
            "cost 1 llm 0 tools 0 subtasks",
            "done Stop",
        ]
    );
    let end = case.end();
    assert_eq!(end.message.content, "It is four.");
    assert_eq!(end.message.finish_reason, Some(FinishReason::Stop));
    assert_eq!(end.message.stop, None);
    assert_eq!(case.disk.commits.get(), 2, "the start with the model call, its outcome with the end");
}

// N-029 N-030 N-050 N-051 N-171 N-189
#[test]
fn the_answer_follows_the_result_of_a_tool_call() {
    let calls = vec![("echo", json!({"a": 1}))];
    let replies = vec![Reply::TextAndCalls("Let me look. ", calls), Reply::Text("Done.")];
    let mut case = Case::new(script(&[("go", replies)]));
    case.history = vec![Message::User { content: "earlier".into() }];
    let case = case.run();
    assert_eq!(
        case.lines()[2..],
        [
            "model 0 start",
            "chunk 0.0 \"Let \"",
            "chunk 0.0 \"me \"",
            "chunk 0.0 \"look. \"",
            "chunk 0.0 \"\" done",
            "model 0 End tool_calls",
            "state executing_tool:echo",
            "tool 0.0 echo Start",
            "tool 0.0 echo End \"echo {\\\"a\\\":1}\"",
            "state thinking",
            "model 1 start",
            "chunk 1.0 \"Done.\"",
            "chunk 1.0 \"\" done",
            "model 1 End stop",
            "cost 2 llm 1 tools 0 subtasks",
            "done Stop",
        ]
    );
    let requests = case.model.requests.borrow();
    let sent: Vec<Message> = requests[1].messages.iter().map(|message| Message::clone(message)).collect();
    let history = case.end().history;
    assert_eq!(sent[0], Message::User { content: "earlier".into() });
    assert_eq!(sent[1..], history[..3], "what is stored is what was sent");
    assert_eq!(history.len(), 4);
    assert!(matches!(&history[2], Message::Tool { call_id, is_error: false, .. } if call_id == "p0.0"));
    assert_eq!(case.end().message.content, "Let me look. \n\nDone.");
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    let belt = ["run_subtask", "memory_list", "memory_read", "memory_write", "echo", "fail", "hang", "write"];
    assert_eq!(names, [&belt[..], &["locked", "once"]].concat(), "no secrets, nothing without a class");
}

// N-013 N-044 N-045 N-052 N-176 N-190 N-191
#[test]
fn a_failed_call_leaves_its_siblings_their_results() {
    let calls = vec![("echo", json!({"n": 0})), ("fail", json!({"n": 1})), ("echo", json!({"n": 2}))];
    let case = Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("So.")])])).run();
    assert_eq!(case.tools.peak.get(), 3, "all three were in flight at once");
    let results: Vec<(String, bool)> = case
        .end()
        .history
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, is_error, .. } => Some((content.clone(), *is_error)),
            _ => None,
        })
        .collect();
    let expected = [("echo {\"n\":0}", false), ("fail {\"n\":1} failed", true), ("echo {\"n\":2}", false)];
    assert_eq!(results, expected.map(|(text, is_error)| (text.to_owned(), is_error)));
}

// N-017 N-094
#[test]
fn a_tool_that_is_not_offered_is_refused() {
    let calls = vec![("secret", json!({})), ("classless", json!({})), ("nonsense", json!("not json"))];
    let case = Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Well.")])])).run();
    assert!(case.tools.ran.borrow().is_empty());
    let refusals = case.lines().iter().filter(|line| line.contains("End error \"the tool")).count();
    assert_eq!(refusals, 3);
    assert_eq!(case.end().message.usage.unwrap().tool_calls, 0, "a refusal costs no budget");
}

// N-170
#[test]
fn a_model_without_tools_gets_none() {
    let mut case = Case::new(script(&[("go", vec![Reply::Text("Plain.")])]));
    case.capabilities = Capabilities { tools: false, parallel_tool_calls: false, ..Capabilities::default() };
    let case = case.run();
    assert!(case.model.requests.borrow()[0].tools.is_empty());

    // A call that it writes all the same is refused.
    let calls = vec![("echo", json!({})), subtask("a"), ("memory_list", json!({}))];
    let mut case = Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Plain.")])]));
    case.capabilities = Capabilities { tools: false, ..Capabilities::default() };
    let case = case.run();
    let refused = |line: &&String| line.contains("there are no tools here, answer in text");
    assert_eq!(case.lines().iter().filter(refused).count(), 3);
    assert_eq!(case.end().message.usage.unwrap().tool_calls, 0);
}

// N-167 N-168 N-169: the flag describes the provider. The loop takes one call at a time or several, and runs
// several side by side either way.
#[test]
fn calls_run_side_by_side_whatever_the_parallel_flag() {
    let echo = |n: u32| ("echo", json!({ "n": n }));
    for parallel_tool_calls in [false, true] {
        let capabilities = Capabilities { parallel_tool_calls, ..Capabilities::default() };
        let mut one_by_one = Case::new(script(&[(
            "go",
            vec![Reply::Calls(vec![echo(0)]), Reply::Calls(vec![echo(1)]), Reply::Text("So.")],
        )]));
        one_by_one.capabilities = capabilities;
        assert_eq!(*one_by_one.run().tools.ran.borrow(), ["echo {\"n\":0}", "echo {\"n\":1}"]);
        let mut at_once =
            Case::new(script(&[("go", vec![Reply::Calls(vec![echo(0), echo(1)]), Reply::Text("So.")])]));
        at_once.capabilities = capabilities;
        let at_once = at_once.run();
        assert_eq!(at_once.tools.peak.get(), 2);
        assert_eq!(at_once.model.requests.borrow()[0].model.capabilities, capabilities, "codecs are told");
    }
}

// N-167: a model's reasoning is streamed as such and is no part of its answer.
#[test]
fn reasoning_is_not_the_answer() {
    let case = Case::new(script(&[("go", vec![Reply::Think("Let me see. ", "Four.")])])).run();
    let said: Vec<(ChunkKind, String)> = case
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Chunk { kind, content, done: false, .. } => Some((kind, content)),
            _ => None,
        })
        .collect();
    let expected = [(ChunkKind::Reasoning, "Let me see. "), (ChunkKind::Text, "Four.")];
    assert_eq!(said, expected.map(|(kind, text)| (kind, text.to_owned())));
    assert_eq!(case.end().message.content, "Four.");
    let answer = Message::Assistant { content: "Four.".to_owned(), tool_calls: Vec::new(), raw: None };
    assert_eq!(case.end().history[1], answer);
}

// N-002 N-009: the model alone decides, for any words of the message.
#[test]
fn no_word_of_the_user_starts_a_plan() {
    for words in ["Plan this step by step and run subtasks in parallel", "/plan", "agent mode: decompose!"] {
        let mut case = Case::new(script(&[(words, vec![Reply::Text("No need.")])]));
        case.content = words.to_owned();
        let case = case.run();
        assert_eq!(case.model.requests.borrow().len(), 1);
        assert_eq!(case.end().message.execution_tree.unwrap().nodes, []);
    }
}

// N-033 N-034
#[test]
fn invalid_arguments_come_back_to_the_model() {
    let calls = vec![("memory_write", json!({"key": "k"})), ("memory_read", json!("{broken"))];
    let case = Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Oh.")])])).run();
    let lines = case.lines().join("\n");
    assert!(lines.contains("invalid arguments at value: it is missing"), "{lines}");
    assert!(lines.contains("invalid arguments"), "{lines}");
}

#[test]
fn a_reply_that_the_provider_paused_goes_on() {
    let case = Case::new(script(&[(
        "go",
        vec![Reply::Ended("Searching. ", ReplyFinish::Pause), Reply::Text("Found.")],
    )]))
    .run();
    let requests = case.model.requests.borrow();
    assert_eq!(requests.len(), 2);
    let last = requests[1].messages.last().map(|message| Message::clone(message));
    let said = Message::Assistant { content: "Searching. ".into(), tool_calls: vec![], raw: None };
    assert_eq!(last, Some(said), "no word of ours stands between");
    assert_eq!(case.end().message.content, "Searching. \n\nFound.");
    assert!(case.lines().contains(&"model 0 End pause".to_owned()), "{:?}", case.lines());
    let endless = Case::new(script(&[("go", vec![Reply::Ended("a", ReplyFinish::Pause)])])).run();
    assert_eq!(endless.model.requests.borrow().len(), 20, "its iterations bound it");
}
