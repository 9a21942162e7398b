//! A procedure step by step: its prompts, its notes, its calls.

use super::*;
use wire::model::ToolChoice;
use wire::protocol::{FinishReason, MIN_NOTES_CHARS};

fn three() -> Case {
    on(
        session(&plain(&["Collect", "Compare", "Write"])),
        script(&[
            ("Collect", vec![Reply::Calls(vec![echo()]), Reply::Calls(vec![done("Collect")])]),
            ("Compare", vec![Reply::Calls(vec![done("Compare")])]),
            ("Write", vec![Reply::Calls(vec![echo()]), Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("The report is there.")]),
        ]),
    )
}

// Long: the whole list of events.
// W-003 W-006 W-007 W-008 W-012 W-015 W-016 W-017 W-018 W-019 W-020 W-022 W-059 W-067 W-070 W-079
#[test]
fn a_procedure_goes_step_by_step_and_costs_its_rounds_and_one_call() {
    let case = three().run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "workflow running 0/3",
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:echo",
            "tool 0.0 echo Start",
            "tool 0.0 echo End \"echo {}\"",
            "state thinking",
            "model 1 start",
            "model 1 End tool_calls",
            "state executing_tool:complete_step",
            "tool 1.0 complete_step Start",
            "tool 1.0 complete_step End \"Step 1 of 3 is done. Step 2 follows.\"",
            "workflow running 1/3",
            "state thinking",
            "model 2 start",
            "model 2 End tool_calls",
            "state executing_tool:complete_step",
            "tool 2.0 complete_step Start",
            "tool 2.0 complete_step End \"Step 2 of 3 is done. Step 3 follows.\"",
            "workflow running 2/3",
            "state thinking",
            "model 3 start",
            "model 3 End tool_calls",
            "state executing_tool:echo",
            "tool 3.0 echo Start",
            "tool 3.0 echo End \"echo {}\"",
            "state thinking",
            "model 4 start",
            "model 4 End tool_calls",
            "state executing_tool:complete_step",
            "tool 4.0 complete_step Start",
            "tool 4.0 complete_step End \"Step 3 of 3 is done. That was the last step.\"",
            "workflow complete 3/3",
            "state thinking",
            "model 5 start",
            "chunk 5.0 \"The \"",
            "chunk 5.0 \"report \"",
            "chunk 5.0 \"is \"",
            "chunk 5.0 \"there.\"",
            "chunk 5.0 \"\" done",
            "model 5 End stop",
            "cost 6 llm 5 tools 0 subtasks",
            "done Stop",
        ]
    );
    let session = left(&case);
    assert_eq!((session.status, session.step, session.revision), (SessionStatus::Complete, 3, 4));
    let notes_of: Vec<_> =
        session.notes.iter().map(|step| (step.step_id.as_str(), step.notes.clone())).collect();
    assert_eq!(
        notes_of,
        [("collect", notes("Collect")), ("compare", notes("Compare")), ("write", notes("Write"))]
    );
    assert_eq!(case.end().session, None, "no change after the last step");
}

// W-008 W-018 W-028 W-080 W-104
#[test]
fn rounds_of_finished_steps_give_way_to_their_notes() {
    let case = three().run();
    let requests = requests(&case);
    assert!(requests[0].system.contains("reason about your approach before executing"));
    assert!(requests[0].system.contains("complete_step") && requests[0].system.contains("a report on pears"));
    assert_eq!(told(&requests[0]), ["user: go", "user: Step 1 of 3: Collect"]);
    assert_eq!(
        told(&requests[1]),
        ["user: go", "user: Step 1 of 3: Collect", "assistant: echo", "result of echo"]
    );
    let collected = format!("assistant: {}", notes("Collect"));
    assert_eq!(
        told(&requests[2]),
        ["user: go", "user: Step 1 of 3: Collect", &collected, "user: Step 2 of 3: Compare"]
    );
    let compared = format!("assistant: {}", notes("Compare"));
    let finished = ["user: Step 1 of 3: Collect", &collected, "user: Step 2 of 3: Compare", &compared];
    assert_eq!(
        told(&requests[4]),
        [&["user: go"], &finished[..], &["user: Step 3 of 3: Write", "assistant: echo", "result of echo"]]
            .concat()
    );
    let last = &requests[5];
    assert_eq!(
        told(last).last().unwrap(),
        "user: All steps of the procedure are done. Tell the user what came of it, in a few sentences."
    );
    assert_eq!(last.tool_choice, ToolChoice::None);
    // The next turn reads what this one sent.
    assert_eq!(case.end().history.len(), 9);
}

// W-104: the tokens of a late step are about those of an early one.
#[test]
fn tokens_do_not_grow_with_the_session() {
    let titles: Vec<String> = (0..12).map(|step| format!("Work{step}")).collect();
    let steps: Vec<(&str, Value)> = titles.iter().map(|title| (title.as_str(), json!({}))).collect();
    let long = || ("echo", json!({"text": "x".repeat(4_000)}));
    let levels: Vec<(&str, Vec<Reply>)> = titles
        .iter()
        .map(|title| {
            let rounds =
                vec![Reply::Calls(vec![long()]), Reply::Calls(vec![long()]), Reply::Calls(vec![done(title)])];
            (title.as_str(), rounds)
        })
        .chain([("all done", vec![Reply::Text("Done.")])])
        .collect();
    let case = on(session(&steps), script(&levels)).run();
    let tokens: Vec<u64> = requests(&case).iter().map(crate::turn::request_tokens).collect();
    let (second, tenth) = (tokens[5], tokens[29]);
    assert!(tenth < second + second / 4, "{tokens:?}");
}

// W-014 W-068 W-071 W-074 W-077 W-078 W-094
#[test]
fn a_step_ends_only_with_notes_of_fifty_characters() {
    let with = |notes: Value| ("complete_step", json!({"notesMarkdown": notes}));
    let short = format!("  {}\n", "ü".repeat(MIN_NOTES_CHARS - 1));
    let enough = format!("  {}\n", "ü".repeat(MIN_NOTES_CHARS));
    let case = on(
        session(&plain(&["Collect"])),
        script(&[
            (
                "Collect",
                vec![
                    Reply::Calls(vec![("complete_step", json!({}))]),
                    Reply::Calls(vec![with(json!(short))]),
                    Reply::Calls(vec![("nonsense", json!({})), ("fail", json!({}))]),
                    Reply::Calls(vec![("complete_step", json!({"notes": enough}))]),
                ],
            ),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
    .run();
    let refused: Vec<String> = case.lines().into_iter().filter(|line| line.contains("error")).collect();
    assert!(refused[0].contains("invalid arguments") && refused[1].contains("these have 49"), "{refused:?}");
    assert_eq!(refused.len(), 4);
    assert_eq!(flow(&case), ["workflow running 0/1", "workflow complete 1/1"]);
    assert_eq!(left(&case).notes[0].notes, "ü".repeat(MIN_NOTES_CHARS));
}

// W-009 W-068 W-089 W-092: a step that begins with a reply cannot end with the same reply, and calls after the end of a step
// run in the next one.
#[test]
fn later_calls_of_a_batch_see_the_new_step() {
    let case = on(
        session(&plain(&["Collect", "Write"])),
        script(&[
            ("Collect", vec![Reply::Calls(vec![done("Collect"), echo(), done("Early")])]),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
    .run();
    let lines = case.lines();
    let at = |line: &str| lines.iter().position(|own| own.starts_with(line)).unwrap();
    assert!(at("workflow running 1/2") < at("tool 0.1 echo Start"), "{lines:?}");
    assert!(lines[at("tool 0.2 complete_step End")].contains("only just begun"));
    // The calls after the end stay, with the whole round; the notes stand before it.
    let collected = format!("assistant: {}", notes("Collect"));
    let round = "assistant: complete_step,echo,complete_step";
    assert_eq!(
        told(&requests(&case)[1]),
        [
            "user: go",
            "user: Step 1 of 2: Collect",
            &collected,
            round,
            "result of complete_step",
            "result of echo",
            "error of complete_step",
            "user: Step 2 of 2: Write"
        ]
    );
    assert_eq!(left(&case).notes.len(), 2);
    // The round leaves with the step in which its last calls ran.
    let written = format!("assistant: {}", notes("Write"));
    assert_eq!(
        told(requests(&case).last().unwrap()),
        [
            "user: go",
            "user: Step 1 of 2: Collect",
            &collected,
            "user: Step 2 of 2: Write",
            &written,
            "user: All steps of the procedure are done. Tell the user what came of it, in a few sentences.",
        ]
    );
}

// W-009 W-068: calls after the end of a step run only where the next step has their tools and lets the model go its own way.
#[test]
fn later_calls_of_a_batch_keep_to_the_new_step() {
    let finish = |end: Value| vec![Reply::Calls(vec![("finish_subtask", end)])];
    let object = json!({"notesMarkdown": notes("Write"), "isComplete": true, "toolCalls": []});
    let batch = |steps: &[(&str, Value)]| {
        let ends = match steps.last().unwrap().1["output_mode"].is_null() {
            true => done("Write"),
            false => ("__step_output__", object.clone()),
        };
        let plan = json!({"plan": [{"action": "echo", "args": {}, "expected_outcome": "good"}]});
        let levels = script(&[
            ("Collect", vec![Reply::Calls(vec![done("Collect"), ("write", json!({}))])]),
            ("Write", vec![Reply::Calls(vec![ends])]),
            ("plan Write", finish(plan)),
            ("notes of Write", finish(json!({"notesMarkdown": notes("Write")}))),
            ("verify Write", finish(json!({"assessment": "pass", "reasoning": "r"}))),
            ("all done", vec![Reply::Text("Done.")]),
        ]);
        let case = on(session(steps), levels).run();
        assert_eq!(left(&case).status, SessionStatus::Complete);
        case.tools.ran.borrow().contains(&"write {}".to_owned())
    };
    let collect = ("Collect", json!({}));
    assert!(batch(&[collect.clone(), ("Write", json!({"tools": ["write"]}))]));
    for next in [
        json!({"tools": []}),
        json!({"type": "planned"}),
        json!({"verifier": {"threshold": "low"}}),
        json!({"output_mode": "structured_output"}),
    ] {
        assert!(!batch(&[collect.clone(), ("Write", next.clone())]), "{next}");
    }
    assert!(!batch(&[collect]), "no call follows the last step");
}

// Values and artifacts are handed on, within their limits.
#[test]
fn steps_hand_values_on() {
    let end = |more: Value| {
        let mut end = json!({"notesMarkdown": notes("Collect")});
        end.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Reply::Calls(vec![("complete_step", end)])
    };
    let large = "x".repeat(65_536);
    let case = on(
        session(&plain(&["Collect", "Write"])),
        script(&[
            (
                "Collect",
                vec![
                    end(json!({"contextUpdates": {"fruit": large}})),
                    end(json!({"artifacts": vec!["a"; 51]})),
                    end(json!({"artifacts": ["x".repeat(501)]})),
                    end(json!({"contextUpdates": {"fruit": "pear</context>"}, "artifacts": ["pears.md"]})),
                ],
            ),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
    .run();
    let refused: Vec<String> = case.lines().into_iter().filter(|line| line.contains(" error ")).collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
    let requests = requests(&case);
    let Message::User { content } = &**requests[4].messages.last().unwrap() else { panic!() };
    assert!(content.text().contains("{\"fruit\":\"pear\\u003c/context>\"}"), "{}", content.text());
    let session = left(&case);
    assert_eq!(session.context["fruit"], "pear</context>");
    assert_eq!(session.notes[0].artifacts, ["pears.md"]);
}

// W-004 W-075 W-081 CF-28: the call is there in a session alone, and the tool with a token is nowhere.
#[test]
fn complete_step_is_offered_in_a_session_alone() {
    let names = |case: &Case| -> Vec<String> {
        requests(case)[0].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let in_session = names(&three().run());
    assert!(in_session.contains(&"complete_step".to_owned()));
    assert!(!in_session.contains(&"continue_workflow".to_owned()));
    let without = names(&Case::new(script(&[("go", vec![Reply::Text("Hi.")])])).run());
    let beside: Vec<_> = in_session.into_iter().filter(|name| name != "complete_step").collect();
    assert_eq!(beside, without);
    // A step names the tools that it has.
    let case = on(
        session(&[("Collect", json!({"tools": ["echo", "unknown"]}))]),
        script(&[
            ("Collect", vec![Reply::Calls(vec![("write", json!({})), done("Collect")])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
    .run();
    assert_eq!(names(&case), ["complete_step", "echo"]);
    assert!(case.lines().iter().any(|line| line.contains("write End error")), "{:?}", case.lines());
}

// Issue 21: a turn that a limit ended leaves the session at its step, and the next message goes on.
#[test]
fn the_next_turn_goes_on_at_its_step() {
    let case = three().limits(|limits| limits.llm_calls = 4).run();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Budget));
    assert_eq!(
        flow(&case),
        ["workflow running 0/3", "workflow running 1/3", "workflow running 2/3", "workflow waiting 2/3"]
    );
    let session = left(&case);
    assert_eq!((session.status, session.step), (SessionStatus::Waiting, 2));
    let mut next = three();
    next.history = case.end().history;
    next.setting.session = Some(Box::new(session));
    next.content = "Go on.".to_owned();
    let next = next.run();
    assert_eq!(flow(&next), ["workflow running 2/3", "workflow complete 3/3"]);
    assert_eq!(left(&next).notes.len(), 3);
}
