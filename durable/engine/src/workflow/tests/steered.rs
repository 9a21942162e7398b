//! The messages that go before a root's next model call: none takes the place of another one, and none comes twice.

use super::*;
use crate::hooks::from_variable;

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
    let reader = "user: [hook reader] Check it.".to_owned();
    let guard = |text: &str| format!("user: [hook guard] {text}");
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
