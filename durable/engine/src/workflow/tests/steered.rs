//! The messages that go before a root's next model call: none takes the place of another one, and none comes twice.

use super::*;
use crate::hooks::from_variable;
use wire::protocol::Event;

fn verdict(assessment: &str) -> Reply {
    let verdict = json!({"assessment": assessment, "reasoning": "r", "retry_instruction": "More."});
    Reply::Calls(vec![("finish_subtask", verdict)])
}

/// A step that is sent back once, and a step after it. One hook comments on each end of a step, one on each result.
fn commented() -> Case {
    let hooks = json!([
        {"name": "reader", "on": "result", "of": "main", "instructions": "read"},
        {"name": "guard", "on": "action", "of": "main", "match": ["complete_step"], "instructions": "guard"},
    ]);
    let says = |text: &'static str| {
        vec![Reply::Calls(vec![("finish_subtask", json!({"decision": "comment", "text": text}))])]
    };
    let guards = |about: &str| format!("guard complete_step {}", done(about).1);
    let (early, late, write) = (guards("Early"), guards("Late"), guards("Write"));
    let mut case = on(
        session(&[("Collect", json!({"verifier": {"threshold": "low"}})), ("Write", json!({}))]),
        script(&[
            ("Collect", vec![Reply::Calls(vec![done("Early")]), Reply::Calls(vec![done("Late")])]),
            ("verify Collect, Early", vec![verdict("retry")]),
            ("verify Collect", vec![verdict("pass")]),
            ("Write", vec![Reply::Text("It is written."), Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("The report is there.")]),
            ("read ", says("Check it.")),
            (early.as_str(), says("So early?")),
            (late.as_str(), says("At last.")),
            (write.as_str(), says("Well.")),
        ]),
    );
    case.setting.hooks = from_variable(&hooks.to_string()).unwrap();
    case
}

/// The messages of users at the end of each of the root's requests.
fn told_last(case: &Case) -> Vec<Vec<String>> {
    let of_root = requests(case).into_iter().filter(|request| request.system.contains("You work through"));
    let last = |request: ModelRequest| {
        let lines = told(&request);
        let from = lines.iter().rposition(|line| !line.starts_with("user: ")).map_or(0, |at| at + 1);
        lines[from..].to_vec()
    };
    of_root.map(last).collect()
}

// W-008 W-017 W-019 W-041, issue 21: the next step's prompt, a retry, a reminder and a hook's comment stand side by side.
#[test]
fn no_message_takes_the_place_of_another_one() {
    let case = commented().run();
    let reader = r#"user: <hook name="reader"> Check it. </hook>"#.to_owned();
    let guard = |text: &str| format!(r#"user: <hook name="guard"> {text} </hook>"#);
    let begin = "user: Step 1 of 2: Collect".to_owned();
    let retry = "user: The work of this step does not pass yet. More.".to_owned();
    let next = "user: Step 2 of 2: Write".to_owned();
    let reminder = "user: The step is still open. Go on with its work, or end it with complete_step if it is done. An answer \
        without a call does not end it."
        .to_owned();
    let last =
        "user: All steps of the procedure are done. Tell the user what came of it, in a few sentences.";
    assert_eq!(
        told_last(&case),
        [
            vec!["user: go".to_owned(), begin],
            vec![retry, guard("So early?"), reader.clone()],
            vec![next, guard("At last."), reader.clone()],
            vec![reminder],
            vec![last.to_owned(), guard("Well."), reader],
        ]
    );
}

// W-090: a run that takes the turn up says each message once, and in the same place.
#[test]
fn messages_stay_as_they_are_after_a_kill_at_each_commit() {
    let whole = commented().run();
    let expected = told_last(&whole);
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = commented();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        // A model call that was cut off is made again, with the same request.
        let mut sent = told_last(&case);
        sent.dedup();
        assert_eq!(sent, expected, "{dies_after}");
    }
}

/// A step whose verifier lets each batch pass, and whose model does not say that the step is done.
fn slow(rounds: usize) -> Case {
    on(
        session(&[("Collect", json!({"verifier": {"threshold": "low"}}))]),
        script(&[
            ("Collect", echoes(rounds).chain([Reply::Calls(vec![done("Collect")])]).collect()),
            ("verify Collect", vec![verdict("pass")]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
}

// W-098: the calls of a verifier do not count, and a step with one is told as any other.
#[test]
fn a_verified_step_without_progress_is_told_at_80_percent() {
    assert_eq!(flow(&slow(15).run()), ["workflow running 0/1", "workflow complete 1/1"]);
    let case = slow(17).run();
    assert_eq!(
        flow(&case),
        ["workflow running 0/1", "workflow running 0/1 no_progress", "workflow complete 1/1"]
    );
    assert_eq!(told_at(&case), Some(16));
}

// W-098: neither a verdict that sends the work back nor an answer without a call hides it.
#[test]
fn a_step_that_is_sent_back_is_told_at_80_percent() {
    let case = on(
        session(&[("Collect", json!({"verifier": {"threshold": "low"}}))]),
        script(&[
            ("Collect", vec![Reply::Text("Hm."), Reply::Calls(vec![done("Collect")])]),
            ("verify Collect", vec![verdict("retry")]),
        ]),
    );
    let mut case = case.limits(|limits| limits.iterations = 5);
    case.run_with(None, |_, _| {});
    assert_eq!(
        flow(&case)[1..],
        [
            "workflow running 0/1 retry",
            "workflow running 0/1 retry",
            "workflow running 0/1 no_progress",
            "workflow needs_human_review 0/1 retries_used_up"
        ]
    );
}

/// The number of the root's own calls before it was told that a step does not advance.
fn told_at(case: &Case) -> Option<usize> {
    let events = case.events();
    let is_told = |event: &Event| matches!(event, Event::WorkflowUpdate { reason: Some(reason), .. } if reason == "no_progress");
    let at = events.iter().position(is_told)?;
    let lines = case.lines();
    Some(lines[..at].iter().filter(|line| line.contains(" echo End")).count())
}

// A deploy in mid-turn: a version that told nothing at a place went on without a word, and the next one does the same there.
#[test]
fn a_place_that_an_older_version_passed_in_silence_stays_silent() {
    let whole = slow(18).run();
    let mut entries = whole.disk.entries.borrow().clone();
    let is_told = |fact: &Fact| {
        matches!(fact, Fact::Steered(steered)
            if steered.change.as_ref().is_some_and(|change| change.reason.as_deref() == Some("no_progress")))
    };
    let at = entries.iter().position(|entry| is_told(&entry.fact)).unwrap();
    let place = entries.remove(at).at;
    let begun = entries.iter().position(|entry| entry.at == place).unwrap();
    entries.truncate(begun + 1);
    let mut case = slow(18);
    case.disk.found(entries);
    case.resume(None);
    assert_eq!(flow(&case), ["workflow complete 1/1"]);
    let revisions: Vec<u64> = changes(&case).iter().map(|change| change.revision).collect();
    assert_eq!((revisions, left(&case).status), (vec![1, 2], SessionStatus::Complete));
}
