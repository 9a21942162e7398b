//! A turn whose message asks for a call. N-020

use serde_json::json;

use crate::journal::{Answer, DirectCall};
use crate::record::keys::WireIds;
use crate::testing::*;
use wire::model::Message;
use wire::protocol::{Awaited, Event, FinishReason};

/// A turn that asks for this call. A model that is asked would say so.
fn asking(tool: &str, arguments: &str) -> Case {
    let mut case = Case::new(script(&[("go", vec![Reply::Text("A model was asked.")])]));
    case.setting.direct = Some(DirectCall { tool: tool.to_owned(), arguments: arguments.to_owned() });
    case
}

pub(crate) fn golden() -> Case {
    asking("write", "{}")
}

pub(crate) fn failing() -> Case {
    asking("fail", "{}")
}

fn asked_no_model(case: &Case) -> bool {
    case.model.requests.borrow().is_empty()
}

#[test]
fn the_result_of_the_call_is_the_answer() {
    let case = golden().run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "tool 0.0 write Start",
            "tool 0.0 write End \"write {}\"",
            "model 1 start",
            "chunk 1.0 \"write {}\" done",
            "model 1 End stop",
            "cost 0 llm 1 tools 0 subtasks",
            "done Stop",
        ]
    );
    assert!(asked_no_model(&case));
    let end = case.end();
    assert_eq!(
        (end.message.content.as_str(), end.message.finish_reason),
        ("write {}", Some(FinishReason::Stop))
    );
    let said =
        |message: &Message| matches!(message, Message::Assistant { content, .. } if content == "write {}");
    assert_eq!((end.history.len(), said(&end.history[3])), (4, true), "{:?}", end.history);
    assert_eq!(case.spec().least_reader, 11);
}

#[test]
fn a_call_that_fails_is_the_end_of_the_turn() {
    for (case, why) in [
        (failing(), "fail {} failed"),
        (asking("secret", "{}"), "the tool \"secret\" is not available"),
        (asking("nothing", "{}"), "the tool \"nothing\" is not available"),
    ] {
        let case = case.run();
        let error = case.events().into_iter().find_map(|event| match event {
            Event::Error { code, message, retryable } => Some((code, message, retryable)),
            _ => None,
        });
        let (code, message, retryable) = error.unwrap();
        assert_eq!((code.as_str(), retryable), ("tool_failed", false));
        assert!(message.starts_with(why), "{message}");
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Error));
        assert_eq!(case.end().message.stop.unwrap().message, message);
        assert!(asked_no_model(&case));
    }
}

#[test]
fn hooks_and_a_person_may_forbid_it() {
    // A guard without a verdict blocks.
    let mut blocked = Case::new(script(&[("guard write {}", vec![Reply::Hang("hm")])]));
    blocked.setting.direct = golden().setting.direct;
    let guard = json!([{"name": "guard", "on": "action", "instructions": "guard"}]);
    blocked.setting.hooks = crate::hooks::from_variable(&guard.to_string()).unwrap();
    let blocked = blocked.run();
    let ended = blocked.end().message.finish_reason;
    assert_eq!((blocked.tools.ran.borrow().len(), ended), (0, Some(FinishReason::Error)));
    for (answer, ran) in [(Answer::Approve, 1), (Answer::Deny, 0)] {
        let mut case = golden();
        let rules: crate::toolbelt::ToolRules = serde_json::from_str(r#"{"write": "ask"}"#).unwrap();
        case.offered_by = case.offered_by.narrowed(rules, Default::default());
        case.run_with(None, |_, _| {});
        assert!(case.is_parked());
        let id = WireIds::new("turn").approval("0.0");
        case.say(None, |turn| turn.answer(&id, Awaited::Approval, answer.clone()).unwrap());
        case.check();
        assert_eq!(case.tools.ran.borrow().len(), ran);
        assert!(asked_no_model(&case));
    }
}

#[test]
fn a_kill_at_every_commit_makes_no_second_call() {
    for dies_after in 1..golden().run().disk.commits.get() {
        let mut case = golden();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.tools.ran.borrow().len(), 1, "after commit {dies_after}");
        assert!(asked_no_model(&case));
    }
}
