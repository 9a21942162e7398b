//! The point `answer`: the drafted answer is judged before readers get it.
//!
//! A-111. Issue 45, 15

use serde_json::json;

use super::*;
use crate::journal::{AgentSetting, CallRecord};
use wire::model::{Message, ReplyFinish};
use wire::protocol::{Event, FinishReason};

/// A hook that judges answers by these instructions.
pub(crate) fn judging(instructions: &str) -> Value {
    json!([{"name": "guard", "on": "answer", "instructions": instructions}])
}

/// A turn whose root gives these replies, and whose hook judges them so: a text, the decision, the reason.
pub(super) fn judged(replies: Vec<Reply>, verdicts: &[(&'static str, &'static str, &'static str)]) -> Case {
    let mut levels = script(&[("go", replies)]);
    for (text, decision, why) in verdicts {
        levels.insert(format!("be kind {text}"), vec![verdict(decision, why)]);
    }
    hooked(judging("be kind"), levels)
}

/// A rude answer, and its rewriting.
pub(crate) fn golden() -> Case {
    judged(
        vec![
            Reply::TextAndCalls("You fool, wait.", vec![("echo", json!({}))]),
            Reply::Text("You fool."),
            Reply::Text("Dear friend."),
        ],
        &[("You fool.", "block", "that is rude"), ("Dear friend.", "allow", "")],
    )
}

/// An answer that its hook never lets pass.
pub(crate) fn blocked() -> Case {
    judged(vec![Reply::Text("You fool.")], &[("You fool.", "block", "that is rude")])
}

/// The texts that clients of all runs saw, and those of the stored parts.
pub(super) fn texts(case: &Case) -> Vec<String> {
    let seen = case.seen.values().filter_map(|event| match event {
        Event::Chunk { content, .. } if !content.is_empty() => Some(content.clone()),
        _ => None,
    });
    seen.collect()
}

/// The words of the newest request of the root.
fn last_request(case: &Case) -> Vec<String> {
    let (requests, asked_at) = (case.model.requests.borrow(), case.model.asked_at.borrow());
    let mut of_root = asked_at.iter().zip(requests.iter()).filter(|(at, _)| !at.contains('-'));
    let (_, request) = of_root.next_back().unwrap();
    let text = |message: &Message| match message {
        Message::User { content } => content.text().into_owned(),
        Message::Assistant { content, .. } => content.clone(),
        Message::Tool { content, .. } => content.clone(),
    };
    request.messages.iter().map(|message| text(message)).collect()
}

// Block once: the rewritten answer is shown, and that alone. The text beside calls is shown to nobody.
#[test]
fn a_blocked_answer_is_written_again() {
    let case = golden().run();
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
            "model 1 End stop",
            "hook 1h0 guard start",
            "model 1h0-hook-0 start in 1h0 depth 1",
            "model 1h0-hook-0 End tool_calls in 1h0 depth 1",
            "tool 1h0-hook-0.0 finish_subtask Start in 1h0 depth 1",
            r#"tool 1h0-hook-0.0 finish_subtask End "accepted" in 1h0 depth 1"#,
            r#"hook 1h0 guard Block "that is rude""#,
            "model 2 start",
            "model 2 End stop",
            "hook 2h0 guard start",
            "model 2h0-hook-0 start in 2h0 depth 1",
            "model 2h0-hook-0 End tool_calls in 2h0 depth 1",
            "tool 2h0-hook-0.0 finish_subtask Start in 2h0 depth 1",
            r#"tool 2h0-hook-0.0 finish_subtask End "accepted" in 2h0 depth 1"#,
            "hook 2h0 guard Allow",
            r#"chunk 2.0 "Dear friend." done"#,
            "cost 5 llm 3 tools 0 subtasks",
            "done Stop",
        ]
    );
    assert_eq!(
        last_request(&case),
        [
            "go",
            "You fool, wait.",
            "echo {}",
            "You fool.",
            "<hook name=\"guard\">\nYour answer was not shown. Write it again. The reason: that is rude\n</hook>",
        ],
        "the model sees the draft and the reason"
    );
    let end = case.end();
    assert_eq!(end.message.content, "Dear friend.");
    let history: Vec<String> = end.history.iter().map(|message| format!("{message:?}")).collect();
    assert!(
        history.iter().all(|message| !message.contains("fool") && !message.contains("rude")),
        "{history:#?}"
    );
    assert_eq!(end.history.len(), 4, "{history:#?}");
    assert_eq!(end.message.usage.unwrap().last_request, None);
    let kinds = end.calls.iter().filter_map(|row| match row {
        CallRecord::Model { operation_type, .. } => Some(operation_type.as_str()),
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["chat", "chat", "hook", "chat", "hook"]);
}

// Block always: two rewritings, then the turn ends with the code and the reason.
#[test]
fn an_answer_that_never_passes_ends_the_turn() {
    let case = blocked().run();
    let end = case.end();
    assert_eq!((end.message.finish_reason, end.message.content.as_str()), (Some(FinishReason::Error), ""));
    let stop = end.message.stop.unwrap();
    assert_eq!(
        (stop.code.as_str(), stop.message.as_str()),
        ("blocked", "The answer is not shown, because the hook guard blocked it: that is rude")
    );
    let error = case.events().into_iter().find(|event| matches!(event, Event::Error { .. }));
    let Some(Event::Error { code, message, retryable }) = error else { panic!() };
    assert_eq!((code, message, retryable), (stop.code, stop.message, false));
    assert_eq!(texts(&case), Vec::<String>::new());
    assert_eq!(case.model.requests.borrow().len(), 6, "three drafts, each with a verdict");
    let history = format!("{:?}", end.history);
    assert!(!history.contains("fool") && history.contains("[This turn was stopped:"), "{history}");
    let rows = end.calls.iter().filter_map(|row| match row {
        CallRecord::Failure(failure) => {
            Some((failure.stage.as_str(), failure.code.as_str(), failure.message.as_str()))
        }
        _ => None,
    });
    assert_eq!(rows.collect::<Vec<_>>(), [("answer", "blocked", "guard")]);
}

// Two blocks are forgiven, and each answer that passes begins the count anew.
#[test]
fn the_second_rewriting_may_pass() {
    let case = judged(
        vec![Reply::Text("One."), Reply::Text("Two."), Reply::Text("Three.")],
        &[("One.", "block", "no"), ("Two.", "block", "nor this"), ("Three.", "allow", "")],
    )
    .run();
    assert_eq!((case.end().message.content.as_str(), texts(&case)), ("Three.", vec!["Three.".to_owned()]));
}

// A hook that fails, is late, or answers something else blocks. A comment is no decision here.
#[test]
fn a_hook_that_gives_no_verdict_blocks() {
    let refused = || Reply::Fail("", wire::model::ModelErrorKind::Overloaded);
    for (reply, why) in [
        (refused(), "it gave no verdict: its model failed (provider_overloaded)"),
        (Reply::Hang("Dear friend"), "it gave no verdict: it took longer than 20 seconds"),
        (Reply::Text("Dear friend, yes."), "it gave no verdict: its answer was not understood"),
        (verdict("comment", "Dear friend, hm."), "it gave no verdict: its answer was not understood"),
    ] {
        let mut levels = script(&[("go", vec![Reply::Text("Dear friend.")])]);
        levels.insert("be kind Dear friend.".to_owned(), vec![reply]);
        let case = hooked(judging("be kind"), levels).run();
        let stop = case.end().message.stop.unwrap();
        assert_eq!(stop.code, "blocked");
        assert!(stop.message.ends_with(why), "{}", stop.message);
        assert_eq!(texts(&case), Vec::<String>::new(), "{why}");
    }
}

// An answer is allowed only where the hook sees it whole; at the limit it does.
#[test]
fn a_hook_judges_what_it_sees_whole() {
    for (bytes, passes) in [(100_000, true), (100_001, false)] {
        let answer: &'static str = Box::leak("x".repeat(bytes).into_boxed_str());
        let case = judged(vec![Reply::Text(answer)], &[(answer, "allow", "")]).run();
        let message = case.end().message;
        assert_eq!(message.content.len(), if passes { bytes } else { 0 });
        let code = message.stop.map(|stop| stop.code);
        assert_eq!(code.as_deref(), if passes { None } else { Some("blocked") });
        let chunks = texts(&case);
        assert!(chunks.iter().all(|chunk| chunk.len() <= 4_096));
        assert_eq!(chunks.len(), if passes { 25 } else { 0 });
    }
}

// A thread's hook may quit; the text still waits for the end of its reply. One of the operator may not.
#[test]
fn a_hook_that_quits_is_not_asked_again() {
    let hooks = json!([{"name": "guard", "on": "answer", "instructions": "be kind"}]);
    let levels = || {
        script(&[
            ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", vec![Reply::Text("Fine.")]),
            ("judge", vec![verdict("quit", "")]),
        ])
    };
    let case = hooked(hooks.clone(), levels()).run();
    assert_eq!(case.end().message.content, "Done.");
    let mut operators = hooked(hooks, levels());
    operators.setting.guards = Some(crate::journal::Guards { hooks: 1, models: None });
    let operators = operators.run();
    assert_eq!(operators.end().message.stop.unwrap().code, "blocked");
}

// Subtasks and agents have copies. Their calls end with an error that says so, and the words go nowhere.
#[test]
fn a_subtask_whose_answer_is_blocked_fails() {
    let levels = script(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
        ("a", vec![Reply::Text("You fool.")]),
        ("be kind You fool.", vec![verdict("block", "that is rude")]),
        ("be kind Done.", vec![verdict("allow", "")]),
    ]);
    let case = hooked(judging("be kind"), levels.clone()).run();
    let results = last_request(&case);
    assert_eq!(
        results[2],
        r#"{"error":"blocked","message":"The hook guard blocked the answer: that is rude"}"#
    );
    assert_eq!(texts(&case), ["Done."]);
    // `main` holds for the main agent alone.
    let mut main = hooked(judging("be kind"), levels);
    main.setting.hooks[0].of = wire::protocol::HookReach::Main;
    let main = main.run();
    assert_eq!(texts(&main).concat(), "You fool.Done.");
    assert!(last_request(&main)[2].starts_with("You fool."));
}

#[test]
fn an_agent_whose_answer_is_blocked_says_so() {
    let mut case = hooked(
        judging("be kind"),
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![(
                        "task",
                        json!({"name": "critic", "instructions": "Judge.", "prompt": "x"}),
                    )]),
                    Reply::Text("Done."),
                ],
            ),
            ("Judge.", vec![Reply::Text("You fool.")]),
            ("be kind You fool.", vec![verdict("block", "that is rude")]),
            ("be kind Done.", vec![verdict("allow", "")]),
        ]),
    );
    case.setting.agents = Some(AgentSetting::default());
    let case = case.run();
    let ends: Vec<String> = case.lines().into_iter().filter(|line| line.contains(" End error")).collect();
    let why = "[My answer is blocked: the hook guard lets nobody hear it: that is rude]";
    assert_eq!(
        ends,
        [
            format!("tool 0.0-d0.0 agent_reply End error {why:?} in 0.0 depth 1"),
            format!("tool 0.0 task End error {why:?}"),
        ]
    );
    let end = case.end();
    let critic = end.agents.iter().find(|row| row.agent.name == "critic").unwrap();
    let left = format!("{:?}", critic.rounds);
    assert!(left.contains("My answer is blocked") && !left.contains("fool"), "{left}");
    assert!(critic.agent.heard.is_empty());
}

// The result of a structured subtask is a call, and no hook is asked about it. Its prose is shown to nobody.
#[test]
fn a_structured_result_is_put_to_no_hook() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let child = ("run_subtask", json!({"title": "t", "instructions": "a", "output_schema": schema}));
    let case = hooked(
        judging("be kind"),
        script(&[
            ("go", vec![Reply::Calls(vec![child]), Reply::Text("Done.")]),
            ("a", vec![Reply::Text("You fool."), Reply::Calls(vec![("finish_subtask", json!({"n": 1}))])]),
            ("be kind Done.", vec![verdict("allow", "")]),
        ]),
    )
    .run();
    assert_eq!(texts(&case), ["Done."]);
    assert_eq!(last_request(&case)[2], r#"{"n":1}"#);
}

// Reasoning is no answer, and readers get none of it. A pause is a part of the draft.
#[test]
fn a_pause_belongs_to_the_draft() {
    let case = judged(
        vec![Reply::Ended("First half.", ReplyFinish::Pause), Reply::Think("You fool.", "Second half.")],
        &[("First half.\n\nSecond half.", "allow", "")],
    )
    .run();
    assert_eq!(case.end().message.content, "First half.\n\nSecond half.");
    assert_eq!(texts(&case), ["First half.", "Second half."]);
}

// A model that judges for the level, at any point, reads the drafts. Readers get none of its words but the verdict.
#[test]
fn nobody_hears_who_reads_the_drafts() {
    let hooks = json!([
        {"name": "guard", "on": "answer", "instructions": "be kind"},
        {"name": "calls", "on": "action", "instructions": "look"},
    ]);
    let case = hooked(
        hooks,
        script(&[
            (
                "go",
                vec![Reply::Text("You fool."), Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Done.")],
            ),
            ("be kind You fool.", vec![Reply::Think("You fool?", "You fool!"), verdict("block", "rude")]),
            ("look echo {}", vec![Reply::Think("You fool?", "You fool!"), verdict("allow", "")]),
            ("be kind Done.", vec![verdict("allow", "")]),
        ]),
    )
    .run();
    assert_eq!(texts(&case), ["Done."]);
    assert!(!case.lines().join("\n").contains("fool"));
}
