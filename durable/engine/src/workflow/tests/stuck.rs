//! Steps that do not advance.

use super::*;
use crate::journal::TurnStop;
use wire::protocol::{FinishReason, Stuck};

fn speaking(stuck: Stuck, replies: Vec<Reply>) -> Case {
    let mut session = session(&plain(&["Collect"]));
    session.definition.stuck = stuck;
    on(session, script(&[("Collect", replies), ("all done", vec![Reply::Text("Done.")])]))
}

// W-021 W-068 W-100: one reminder, then the turn ends and waits. Never success.
#[test]
fn text_without_a_call_is_no_success() {
    let case = speaking(Stuck::Abort, vec![Reply::Text("I am done."), Reply::Text("Really.")]).run();
    assert_eq!(flow(&case), ["workflow running 0/1", "workflow stuck 0/1 no_advance"]);
    let lines = case.lines();
    assert_eq!(lines[lines.len() - 3..], ["state waiting", "cost 2 llm 0 tools 0 subtasks", "done Stop"]);
    assert!(told(&requests(&case)[1]).last().unwrap().starts_with("user: The step is still open."));
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
    assert_eq!((left(&case).status, left(&case).step), (SessionStatus::Stuck, 0));
}

// W-019 W-021: a reminder that helps.
#[test]
fn a_reminder_lets_the_step_go_on() {
    let replies = vec![
        Reply::Text("Done?"),
        Reply::Calls(vec![echo()]),
        Reply::Text("Now?"),
        Reply::Calls(vec![done("Collect")]),
    ];
    let case = speaking(Stuck::Abort, replies).run();
    assert_eq!(flow(&case), ["workflow running 0/1", "workflow complete 1/1"]);
}

// W-100: who is only notified goes on to the limit of the step.
#[test]
fn notify_only_tells_once_and_goes_on() {
    let case =
        speaking(Stuck::NotifyOnly, vec![Reply::Text("Hm.")]).limits(|limits| limits.iterations = 5).run();
    assert_eq!(
        flow(&case),
        [
            "workflow running 0/1",
            "workflow running 0/1 no_advance",
            "workflow running 0/1 no_progress",
            "workflow waiting 0/1"
        ]
    );
    assert_eq!(requests(&case).len(), 5);
    assert_eq!(case.end().message.stop.unwrap().code, "iteration_limit");
}

// W-098 W-100: the one does not keep readers from the other.
#[test]
fn no_progress_is_told_beside_no_advance() {
    let replies = echoes(4).chain([Reply::Text("Hm."), Reply::Text("Hm.")]).collect();
    let case = speaking(Stuck::NotifyOnly, replies).limits(|limits| limits.iterations = 6).run();
    let reasons = ["workflow running 0/1 no_progress", "workflow running 0/1 no_advance"];
    assert_eq!(flow(&case)[1..3], reasons, "{:?}", flow(&case));
}

// W-098 W-099: 16 of 20 calls without an advance are told once, and nothing acts on it.
#[test]
fn a_step_without_progress_is_told_at_80_percent() {
    let rounds =
        |count: usize| echoes(count).chain([Reply::Calls(vec![done("Collect")])]).collect::<Vec<_>>();
    let case = speaking(Stuck::Abort, rounds(15)).run();
    assert_eq!(flow(&case), ["workflow running 0/1", "workflow complete 1/1"]);
    let case = speaking(Stuck::Abort, rounds(17)).run();
    assert_eq!(
        flow(&case),
        ["workflow running 0/1", "workflow running 0/1 no_progress", "workflow complete 1/1"]
    );
    let lines = case.lines();
    let at = lines.iter().position(|line| line.ends_with("no_progress")).unwrap();
    assert_eq!(lines[at - 1], r#"tool 15.0 echo End "echo {\"round\":15}""#);
    // The limit of the step ends the turn.
    let case = speaking(Stuck::Abort, rounds(30)).run();
    assert_eq!(requests(&case).len(), 20);
    assert_eq!(case.end().message.stop.unwrap().code, "iteration_limit");
    assert_eq!((left(&case).status, left(&case).step), (SessionStatus::Waiting, 0));
}

// W-099: a step that was told to be slow may still get stuck. The terminal signal decides.
#[test]
fn a_slow_step_that_gets_stuck_is_stuck() {
    let replies = echoes(16).chain([Reply::Text("Hm."), Reply::Text("Hm.")]).collect();
    let case = speaking(Stuck::Abort, replies).run();
    assert_eq!(
        flow(&case),
        ["workflow running 0/1", "workflow running 0/1 no_progress", "workflow stuck 0/1 no_advance"]
    );
    assert_eq!((left(&case).status, requests(&case).len()), (SessionStatus::Stuck, 18));
}

// W-096: a stop leaves each call with a result, and the session at its step.
#[test]
fn a_cancelled_turn_leaves_the_session_at_its_step() {
    let mut case = speaking(Stuck::Abort, vec![Reply::Calls(vec![("hang", json!({})), done("Collect")])]);
    case.run_with(None, |turn, _| {
        if !turn.record.borrow().pending.is_empty() {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    assert_eq!(flow(&case), ["workflow running 0/1", "workflow waiting 0/1"]);
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled));
}

// A blank message changes nothing.
#[test]
fn a_blank_message_leaves_the_session_alone() {
    let mut case = speaking(Stuck::Abort, vec![]);
    case.content = " ".to_owned();
    let case = case.run();
    assert_eq!((flow(&case), changes(&case)), (Vec::<String>::new(), Vec::new()));
}
