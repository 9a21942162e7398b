//! Steps that a plan carries out.

use super::*;
use crate::journal::Answer;
use crate::workflow::planned::{NOT_ALLOWED, UNANSWERED};
use crate::workflow::prompt::CARRIED_OUT;
use wire::model::ModelErrorKind;
use wire::protocol::Awaited;

fn plan(actions: &[(&str, Value)]) -> Reply {
    let action =
        |(name, args): &(&str, Value)| json!({"action": name, "args": args, "expected_outcome": "good"});
    let plan: Vec<Value> = actions.iter().map(action).collect();
    Reply::Calls(vec![("finish_subtask", json!({"plan": plan}))])
}

fn noted(about: &str) -> Reply {
    Reply::Calls(vec![(
        "finish_subtask",
        json!({"notesMarkdown": notes(about), "contextUpdates": {"seen": about}}),
    )])
}

fn planning(more: Value, levels: &[(&str, Vec<Reply>)]) -> Case {
    let mut step = json!({"type": "planned"});
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let always =
        [("Write", vec![Reply::Calls(vec![done("Write")])]), ("all done", vec![Reply::Text("Done.")])];
    let levels: Vec<_> = levels.iter().cloned().chain(always).collect();
    on(session(&[("Collect", step), ("Write", json!({}))]), script(&levels))
}

// W-031 W-032 W-033 W-034 W-035 W-036 W-037: two model calls for any number of actions.
#[test]
fn a_plan_is_carried_out_without_a_model_in_between() {
    let actions = [
        ("echo", json!({"n": 1})),
        ("write", json!({"n": 2})),
        ("echo", json!({"n": 3})),
        ("echo", json!({"n": 4})),
        ("complete_step", json!({})),
        ("echo", json!({"n": 5})),
    ];
    let case = planning(
        json!({}),
        &[("plan Collect", vec![plan(&actions)]), ("notes of Collect", vec![noted("Collect")])],
    )
    .run();
    let requests = requests(&case);
    assert_eq!(requests.len(), 4, "a plan, its notes; a step; the answer");
    assert_eq!(
        *case.tools.ran.borrow(),
        ["echo {\"n\":1}", "write {\"n\":2}", "echo {\"n\":3}", "echo {\"n\":4}"]
    );
    let Message::User { content } = &*requests[1].messages[0] else { panic!() };
    for n in 1..=4 {
        assert!(content.text().contains(&format!("{{\\\"n\\\":{n}}}")), "{}", content.text());
    }
    assert_eq!(flow(&case), ["workflow running 0/2", "workflow running 1/2", "workflow complete 2/2"]);
    let session = left(&case);
    assert_eq!(
        (session.notes[0].notes.clone(), session.context["seen"].clone()),
        (notes("Collect"), json!("Collect"))
    );
    // The plan stands in the journal and in the events before its first action.
    let lines = case.lines();
    let at = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap();
    assert!(at("finish_subtask Start") < at("echo Start"), "{lines:?}");
    // The next step sees the notes alone.
    assert_eq!(
        told(&requests[2]),
        [
            "user: go",
            "user: Step 1 of 2: Collect",
            &format!("assistant: {}", notes("Collect")),
            "user: Step 2 of 2: Write"
        ]
    );
}

// W-038: a failure is named, and so is an action that does not exist.
#[test]
fn what_failed_is_named() {
    let actions = [("fail", json!({})), ("echo", json!({})), ("complete_step", json!({}))];
    let case = planning(
        json!({}),
        &[("plan Collect", vec![plan(&actions)]), ("notes of Collect", vec![noted("Collect")])],
    )
    .run();
    let Message::User { content } = &*requests(&case)[1].messages[0] else { panic!() };
    assert_eq!(content.text().matches("\"outcome\":\"FAILED\"").count(), 1, "{}", content.text());
    assert_eq!(content.text().matches("\"outcome\":\"ok\"").count(), 1);
    // The schema refuses an action that the step does not have; the model corrects it.
    let wrong = plan(&[("nothing", json!({}))]);
    let case = planning(
        json!({"tools": ["echo"]}),
        &[
            ("plan Collect", vec![wrong, plan(&[("echo", json!({}))])]),
            ("notes of Collect", vec![noted("Collect")]),
        ],
    )
    .run();
    assert_eq!(*case.tools.ran.borrow(), ["echo {}"]);
    assert!(case.lines().iter().any(|line| line.contains("finish_subtask End error")));
}

// A plan that cannot be made: the model does the step itself.
#[test]
fn without_a_plan_the_model_does_the_step() {
    let by_itself = ("Collect", vec![Reply::Calls(vec![done("Collect")])]);
    for levels in [
        vec![("plan Collect", vec![Reply::Fail("", ModelErrorKind::Auth)]), by_itself.clone()],
        vec![("plan Collect", vec![Reply::Text("No.")]), by_itself.clone()],
    ] {
        let case = planning(json!({}), &levels).run();
        assert_eq!(flow(&case).last().unwrap(), "workflow complete 2/2");
        let last: Vec<String> = requests(&case).iter().filter_map(|request| told(request).pop()).collect();
        assert!(
            last.iter().any(|text| text.starts_with("user: No plan of this step was carried out")),
            "{last:?}"
        );
    }
}

// Notes that cannot be written, or not be taken: the results of the plan stand, and the model writes the notes.
#[test]
fn without_notes_the_results_of_the_plan_stand() {
    let written = |notes: String, value: usize| {
        let values = json!({"seen": "x".repeat(value)});
        Reply::Calls(vec![("finish_subtask", json!({"notesMarkdown": notes, "contextUpdates": values}))])
    };
    let verifier = json!({"verifier": {"threshold": "low"}});
    for (more, wrong) in [
        (json!({}), Reply::Fail("", ModelErrorKind::Auth)),
        (json!({}), written(" ".repeat(60), 1)),
        (json!({}), written(notes("Collect"), 65_536)),
        // A proposal that is cut would be none.
        (verifier.clone(), written(notes("Collect"), 60_000)),
    ] {
        let levels = [
            ("plan Collect", vec![plan(&[("echo", json!({"n": 1}))])]),
            ("notes of Collect", vec![wrong]),
            ("Collect", vec![Reply::Calls(vec![done("By hand")])]),
            ("verify Collect", vec![verdict("pass")]),
        ];
        let case = planning(more, &levels).run();
        let by_hand = requests(&case).into_iter().find(|request| request.system.contains("You work through"));
        let by_hand = by_hand.unwrap();
        let Message::User { content } = &**by_hand.messages.last().unwrap() else { panic!() };
        let text = content.text();
        assert!(text.starts_with("The plan was carried out") && text.contains("echo {"), "{text}");
        assert_eq!(left(&case).notes[0].notes, notes("By hand"));
        assert_eq!(case.tools.ran.borrow().len(), 1);
        assert!(!requests(&case).iter().any(|request| told(request).join(" ").contains("No plan")));
    }
}

// The proposal is whole, whether it has room for a part of the results, for the mark of a cut, or for nothing.
#[test]
fn a_proposal_is_never_cut() {
    for spare in [0, 1, 13, 25, 26, 27, 100] {
        let room = Limits::default().tool_result_bytes - spare;
        let proposal = |value: &str| json!({"notesMarkdown": notes("Collect"), "contextUpdates": {"seen": value}, "results": ""});
        let value = "x".repeat(room - proposal("").to_string().len());
        let written = json!({"notesMarkdown": notes("Collect"), "contextUpdates": {"seen": value}});
        let levels = [
            ("plan Collect", vec![plan(&[("echo", json!({"n": "y".repeat(100)}))])]),
            ("notes of Collect", vec![Reply::Calls(vec![("finish_subtask", written)])]),
            ("verify Collect", vec![verdict("pass")]),
        ];
        let case = planning(json!({"verifier": {"threshold": "low"}}), &levels).run();
        assert_eq!(left(&case).notes[0].notes, notes("Collect"), "{spare}");
        assert_eq!(case.tools.ran.borrow().len(), 1, "{spare}");
    }
}

fn verdict(assessment: &str) -> Reply {
    let verdict = json!({"assessment": assessment, "reasoning": "r", "retry_instruction": "More."});
    Reply::Calls(vec![("finish_subtask", verdict)])
}

// A plan knows what the root knows: the goal, the notes so far, the words of the user.
#[test]
fn a_planner_knows_how_the_session_came_here() {
    let mut case = on(
        session(&[("Write", json!({})), ("Collect", json!({"type": "planned"}))]),
        script(&[
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("plan Collect", vec![plan(&[("echo", json!({}))])]),
            ("notes of Collect", vec![noted("Collect")]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    );
    case.content = "Delete no pears.".to_owned();
    let asked = asked(&case.run(), "You plan one step");
    for part in ["<goal>\na report on pears\n", &format!("write: \"{}\"", notes("Write")), "Delete no pears."]
    {
        assert!(asked[0].contains(part), "{part}: {}", asked[0]);
    }
}

// A limit cuts a plan off. The next turn's planner sees the calls that were made.
#[test]
fn a_plan_that_was_cut_off_is_known_to_the_next_one() {
    let levels = |actions: &[(&str, Value)]| {
        [("plan Collect", vec![plan(actions)]), ("notes of Collect", vec![noted("Collect")])]
    };
    let actions = [("echo", json!({"n": 1})), ("write", json!({"n": 2}))];
    let case = planning(json!({}), &levels(&actions)).limits(|limits| limits.tool_calls = 3).run();
    assert_eq!(*case.tools.ran.borrow(), ["echo {\"n\":1}"]);
    let mut next = planning(json!({}), &levels(&actions[1..]));
    (next.history, next.setting.session) = (case.end().history, Some(Box::new(left(&case))));
    let next = next.run();
    let asked = asked(&next, "You plan one step");
    assert!(asked[0].contains("echo {"), "{}", asked[0]);
    assert_eq!(left(&next).status, SessionStatus::Complete);
}

fn reviewed() -> Case {
    planning(
        json!({"review": true}),
        &[
            ("plan Collect", vec![plan(&[("echo", json!({"n": 1}))])]),
            ("notes of Collect", vec![noted("Collect")]),
        ],
    )
}

/// A session whose definition and steps have all members that they can have.
pub(crate) fn with_all_members() -> Case {
    let verdict = json!({"assessment": "pass", "reasoning": "good"});
    let verifier = json!({"model": "speed", "threshold": "low"});
    let mut session = session(&[
        ("Collect", json!({"type": "planned", "review": true, "tools": ["echo"], "verifier": verifier})),
        ("Write", json!({})),
    ]);
    session.definition.stuck = wire::protocol::Stuck::NotifyOnly;
    session.definition.notify =
        Some(wire::protocol::WorkflowNotify { url: "https://example.com/hook".to_owned() });
    let mut end = done("Write").1;
    end["contextUpdates"] = json!({"seen": "Write"});
    end["artifacts"] = json!(["report.md"]);
    on(
        session,
        script(&[
            ("plan Collect", vec![plan(&[("echo", json!({}))])]),
            ("notes of Collect", vec![noted("Collect")]),
            ("verify Collect", vec![Reply::Calls(vec![("finish_subtask", verdict)])]),
            ("Write", vec![Reply::Calls(vec![("complete_step", end)])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
}

fn decided(answer: Answer) -> Case {
    let mut case = reviewed();
    case.run_with(None, |_, _| {});
    assert!(case.is_parked() && case.tools.ran.borrow().is_empty());
    let asked = case.events().into_iter().find_map(|event| match event {
        wire::protocol::Event::ApprovalRequest { approval_id, args, name, .. } => {
            Some((approval_id, args, name))
        }
        _ => None,
    });
    let (id, args, name) = asked.unwrap();
    assert_eq!((name.as_str(), args["plan"][0]["action"].as_str()), ("review_step", Some("echo")));
    case.say(None, |turn| turn.answer(&id, Awaited::Approval, answer).unwrap());
    case.check();
    case
}

// W-037 W-105: a person sees the plan before it runs.
#[test]
fn a_person_may_review_a_plan() {
    let case = decided(Answer::Approve);
    assert_eq!(*case.tools.ran.borrow(), ["echo {\"n\":1}"]);
    assert_eq!(left(&case).status, SessionStatus::Complete);
    let case = decided(Answer::Deny);
    assert!(case.tools.ran.borrow().is_empty());
    assert_eq!(flow(&case), ["workflow running 0/2", "workflow waiting 0/2 plan_denied"]);
    let lines = case.lines();
    assert_eq!(lines[lines.len() - 3], "state waiting");
    // No person answered in time.
    let mut case = reviewed();
    case.run_with(None, |_, _| {});
    case.clock.pass(case.limits.approval_wait_ms + 1);
    case.say(None, |turn| turn.expire().unwrap());
    case.check();
    assert!(case.tools.ran.borrow().is_empty());
    assert_eq!(flow(&case), ["workflow running 0/2", "workflow waiting 0/2 unanswered"]);
}

// W-004 W-069: a planned step with a verifier is judged by its notes.
#[test]
fn the_notes_of_a_plan_are_judged() {
    let levels = |verdicts| {
        [
            ("plan Collect", vec![plan(&[("echo", json!({"n": 1}))])]),
            ("notes of Collect", vec![noted("Collect")]),
            ("verify Collect, Collect", verdicts),
            ("verify Collect", vec![verdict("pass")]),
            ("Collect", vec![Reply::Calls(vec![done("Mended")])]),
        ]
    };
    let verifier = || json!({"verifier": {"threshold": "low"}});
    let case = planning(verifier(), &levels(vec![verdict("pass")])).run();
    assert_eq!(flow(&case), ["workflow running 0/2", "workflow running 1/2", "workflow complete 2/2"]);
    assert_eq!(left(&case).notes[0].notes, notes("Collect"));
    // Sent back, the model reads what the step is, and the verifier still has the results of the plan.
    let case = planning(verifier(), &levels(vec![verdict("retry")])).run();
    assert_eq!(
        (flow(&case)[1].as_str(), left(&case).notes[0].notes.clone()),
        ("workflow running 0/2 retry", notes("Mended"))
    );
    let root =
        requests(&case).into_iter().find(|request| request.system.contains("You work through")).unwrap();
    let texts: Vec<String> = root
        .messages
        .iter()
        .rev()
        .take(2)
        .map(|message| match &**message {
            Message::User { content } => content.text().into_owned(),
            _ => String::new(),
        })
        .collect();
    assert!(texts[0].contains("More.") && texts[1].contains("Do Collect."), "{texts:?}");
    let asked = asked(&case, "You judge");
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|asked| asked.contains("echo {")), "{asked:?}");
}

// Journals of older releases have these results. To change one would break turns that go on over a deploy.
#[test]
fn the_results_of_a_plan_stay_as_journals_have_them() {
    assert_eq!(
        [NOT_ALLOWED, UNANSWERED, CARRIED_OUT],
        [
            "A person did not allow this plan, so nothing of it was carried out.",
            "No person decided on this plan, so nothing of it was carried out.",
            "The plan was carried out, and these results stand",
        ]
    );
}
