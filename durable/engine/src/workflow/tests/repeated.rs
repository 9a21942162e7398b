//! Calls that the model repeats (W-097): readers hear of it once in a session.

use super::*;

const REPEATED: &str = "workflow running 0/1 repeated_call";

/// The turn of a session of one step whose model replies so, and then completes the step.
fn replying(replies: Vec<Vec<(&'static str, Value)>>) -> Case {
    in_session(session(&plain(&["Collect"])), replies)
}

fn in_session(session: Session, replies: Vec<Vec<(&'static str, Value)>>) -> Case {
    let replies = replies.into_iter().map(Reply::Calls).chain([Reply::Calls(vec![done("Collect")])]);
    on(session, script(&[("Collect", replies.collect()), ("all done", vec![Reply::Text("Done.")])]))
}

/// A turn that tells of a repeated call.
pub(crate) fn golden() -> Case {
    replying(vec![vec![echo()]; 4])
}

/// A turn of a session that has told of one.
pub(crate) fn golden_after() -> Case {
    let known = Session { repeated_call: true, ..session(&plain(&["Collect"])) };
    in_session(known, vec![vec![echo()]; 3])
}

fn write(n: u32) -> (&'static str, Value) {
    ("write", json!({"n": n}))
}

/// How often a case tells of a repeated call.
fn count(case: &Case) -> usize {
    flow(case).iter().filter(|line| line.ends_with("repeated_call")).count()
}

// W-097: from the third time on, in one reply or in several, and once however long it goes on.
#[test]
fn the_third_identical_call_in_a_row_is_an_event() {
    for (replies, expected) in [
        (vec![vec![echo()]; 2], 0),
        (vec![vec![echo()]; 3], 1),
        (vec![vec![echo()]; 9], 1),
        (vec![vec![echo(), echo(), echo()]], 1),
        (vec![vec![write(1), echo()], vec![echo(), echo()]], 1),
        (vec![vec![echo()], vec![echo()], vec![write(1)], vec![echo()], vec![echo()]], 0),
        (vec![vec![write(1)], vec![write(2)], vec![write(1)], vec![write(2)]], 0),
        // A call that fails, or that is refused, repeats like any other.
        (vec![vec![("fail", json!({}))]; 3], 1),
        (vec![vec![("nothing", json!({}))]; 3], 1),
        (vec![vec![("complete_step", json!({"notesMarkdown": "short"}))]; 3], 1),
    ] {
        let case = replying(replies.clone()).run();
        assert_eq!(count(&case), expected, "{replies:?}");
        assert_eq!(left(&case).repeated_call, expected > 0);
        assert_eq!(left(&case).status, SessionStatus::Complete, "nothing acts on it");
    }
    let case = replying(vec![vec![echo()]; 4]).run();
    assert_eq!(flow(&case), ["workflow running 0/1", REPEATED, "workflow complete 1/1"]);
    let lines = case.lines();
    let at = lines.iter().position(|line| line == REPEATED).unwrap();
    assert_eq!(lines[at - 1], "tool 2.0 echo End \"echo {}\"", "behind the third call");
}

// W-097: once in the session, over its turns.
#[test]
fn a_session_tells_of_it_once() {
    let first = replying(vec![vec![echo()]; 20]).run();
    assert_eq!(
        (count(&first), left(&first).status),
        (1, SessionStatus::Waiting),
        "the turn ends at its limit"
    );
    let kept = serde_json::to_string(&left(&first)).unwrap();
    let session: Session = serde_json::from_str(&kept).unwrap();
    assert!(session.repeated_call);
    let second = in_session(session, vec![vec![write(1)]; 6]).run();
    assert_eq!(flow(&second), ["workflow running 0/1", "workflow complete 1/1"]);
    // A message of the user stands between the calls of two turns.
    let two = replying(vec![vec![echo()], vec![echo()], vec![("hang", json!({}))]]);
    let mut two = two.limits(|limits| limits.iterations = 2);
    two.run_with(None, |_, _| {});
    assert_eq!(count(&two), 0);
    assert_eq!(count(&in_session(left(&two), vec![vec![echo()]]).run()), 0);
    // Sessions of former code have no such member.
    assert!(!serde_json::to_string(&session_of_former_code()).unwrap().contains("repeated_call"));
}

fn session_of_former_code() -> Session {
    session(&plain(&["Collect"]))
}

// W-097: a kill at each commit tells neither twice nor never.
#[test]
fn it_is_told_once_after_a_kill_at_each_commit() {
    let begin = || replying(vec![vec![echo()]; 5]);
    let whole = begin().run();
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = begin();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(flow(&case), flow(&whole), "{dies_after}");
        assert_eq!(changes(&case), changes(&whole), "{dies_after}");
    }
}

// The end of a step is no repetition, even in the same words, and the next step begins anew.
#[test]
fn steps_that_end_repeat_nothing() {
    let same = || Reply::Calls(vec![done("Same")]);
    let titles = ["Collect", "Compare", "Write"];
    let mut levels: Vec<_> = titles.iter().map(|title| (*title, vec![same()])).collect();
    levels.push(("all done", vec![Reply::Text("Done.")]));
    assert_eq!(count(&on(session(&plain(&titles)), script(&levels)).run()), 0);
    let across = |first: Vec<(&'static str, Value)>, second: Vec<(&'static str, Value)>| {
        let levels = [
            ("Collect", vec![Reply::Calls(first)]),
            ("Write", vec![Reply::Calls(second), same()]),
            ("all done", vec![Reply::Text("Done.")]),
        ];
        on(session(&plain(&["Collect", "Write"])), script(&levels)).run()
    };
    assert_eq!(count(&across(vec![echo(), echo(), done("One")], vec![echo()])), 0);
    assert_eq!(count(&across(vec![echo(), done("One"), echo()], vec![echo()])), 0);
    // Calls behind the end of a step are those of the next one.
    assert_eq!(count(&across(vec![done("One"), echo(), echo()], vec![echo()])), 1);
    // A place has one change. The step begins with it, and it tells of the calls before.
    let case = across(vec![echo(), echo(), echo(), done("One")], vec![write(1)]);
    let expected = [
        "workflow running 0/2",
        "workflow running 1/2",
        "workflow running 1/2 repeated_call",
        "workflow complete 2/2",
    ];
    assert_eq!(flow(&case), expected);
}

// W-046 W-097: the calls of a judge stand between, and its verdict does not hide the event.
#[test]
fn a_step_with_a_verifier_tells_of_it() {
    let verdict = |assessment: &str| {
        let verdict = json!({"assessment": assessment, "reasoning": "r", "retry_instruction": "More."});
        Reply::Calls(vec![("finish_subtask", verdict)])
    };
    let rounds = |assessment: &str| {
        let replies = (0..3).map(|_| Reply::Calls(vec![echo()])).chain([Reply::Calls(vec![done("Collect")])]);
        on(
            session(&[("Collect", json!({"verifier": {"threshold": "low"}}))]),
            script(&[
                ("Collect", replies.collect()),
                ("verify Collect", vec![verdict(assessment)]),
                ("all done", vec![Reply::Text("Done.")]),
            ]),
        )
    };
    assert_eq!(flow(&rounds("pass").run()), ["workflow running 0/1", REPEATED, "workflow complete 1/1"]);
    let mut sent_back = rounds("retry");
    sent_back.run_with(None, |_, _| {});
    let retry = "workflow running 0/1 retry";
    assert_eq!(flow(&sent_back)[1..4], [retry, retry, REPEATED], "in place of the third `retry`");
}

// W-046 W-097: a proposal that is sent back in the same words is judged, and `retry` tells of it.
#[test]
fn a_proposal_repeats_nothing() {
    let verdict = json!({"assessment": "retry", "reasoning": "r", "retry_instruction": "More."});
    let mut case = on(
        session(&[("Collect", json!({"verifier": {"threshold": "low"}}))]),
        script(&[
            ("Collect", vec![Reply::Calls(vec![done("Collect")])]),
            ("verify Collect", vec![Reply::Calls(vec![("finish_subtask", verdict)])]),
        ]),
    );
    case.run_with(None, |_, _| {});
    assert_eq!((count(&case), flow(&case).len()), (0, 5), "{:?}", flow(&case));
}

// W-069 W-097: the calls of an object count, whatever is written beside them.
#[test]
fn the_calls_of_an_object_repeat_too() {
    let object = |thought: u32, calls: Value| {
        let object =
            json!({"thought": thought, "notesMarkdown": "", "isComplete": false, "toolCalls": calls});
        vec![("__step_output__", object)]
    };
    let structured = |objects: Vec<Vec<(&'static str, Value)>>| {
        let step = [("Collect", json!({"output_mode": "structured_output"}))];
        let last = json!({"notesMarkdown": notes("Collect"), "isComplete": true, "toolCalls": []});
        let replies =
            objects.into_iter().chain([vec![("__step_output__", last)]]).map(Reply::Calls).collect();
        let levels = [("Collect", replies), ("all done", vec![Reply::Text("Done.")])];
        count(&on(session(&step), script(&levels)).run())
    };
    let call = |n: u32| json!({"tool": "write", "params": {"n": n}});
    let one = |thought: u32| object(thought, json!([call(1)]));
    assert_eq!(structured(vec![one(1), one(2), one(3)]), 1);
    assert_eq!(structured(vec![object(1, json!([call(1), call(1), call(1)])), one(2), one(3)]), 1);
    assert_eq!(structured(vec![one(1), object(2, json!([call(2)])), one(3)]), 0);
    assert_eq!(structured(vec![object(7, json!([])); 3]), 1, "an object without calls is one itself");
}

// A deploy in mid-turn: former code passed the place of the third call in silence, and the fourth one is told.
#[test]
fn a_turn_of_former_code_tells_of_the_next_one() {
    let whole = replying(vec![vec![echo()]; 5]).run();
    let mut entries = whole.disk.entries.borrow().clone();
    let is_it = |fact: &Fact| {
        matches!(fact, Fact::Steered(steered)
            if steered.change.as_ref().is_some_and(SessionChange::tells_of_repeated_call))
    };
    let at = entries.iter().position(|entry| is_it(&entry.fact)).unwrap();
    let place = entries.remove(at).at;
    let begun = entries.iter().position(|entry| entry.at == place).unwrap();
    entries.truncate(begun + 1);
    let mut case = replying(vec![vec![echo()]; 5]);
    case.disk.found(entries);
    case.resume(None);
    assert_eq!(flow(&case), [REPEATED, "workflow complete 1/1"]);
}
