//! Steps whose replies are one object.

use super::*;
use wire::model::ToolChoice;

fn output(calls: Vec<(&str, Value)>, complete: bool, about: &str) -> Reply {
    let calls: Vec<Value> =
        calls.into_iter().map(|(tool, params)| json!({"tool": tool, "params": params})).collect();
    let notes = if about.is_empty() { String::new() } else { notes(about) };
    let object = json!({"thought": "hm", "notesMarkdown": notes, "isComplete": complete, "toolCalls": calls});
    Reply::Calls(vec![("__step_output__", object)])
}

fn structured(more: Value, replies: Vec<Reply>) -> Case {
    let mut step = json!({"output_mode": "structured_output"});
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    on(
        session(&[("Collect", step), ("Write", json!({}))]),
        script(&[
            ("Collect", replies),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
}

// W-024 W-025 W-026 W-027 W-049 W-050 W-051 W-055 W-056 W-057 W-066 W-069
#[test]
fn one_object_has_the_calls_and_the_notes() {
    let case = structured(
        json!({"tools": ["echo", "write"]}),
        vec![
            output(vec![("write", json!({"n": 1})), ("echo", json!({"n": 2}))], false, ""),
            output(vec![("echo", json!({"n": 3}))], true, "Collect"),
        ],
    )
    .run();
    let requests = requests(&case);
    assert_eq!(requests[0].tools.len(), 1);
    let tool = &requests[0].tools[0];
    assert_eq!((tool.name.as_str(), requests[0].tool_choice), ("__step_output__", ToolChoice::Required));
    let schema: Value = serde_json::from_str(tool.input_schema.0.get()).unwrap();
    let names = &schema["properties"]["toolCalls"]["items"]["properties"]["tool"]["enum"];
    assert_eq!(*names, json!(["echo", "write"]));
    assert_eq!(requests[1].tool_choice, ToolChoice::Required, "in each reply of the step");
    let Message::Tool { content, .. } = &**requests[1].messages.last().unwrap() else { panic!() };
    assert_eq!(content, "1. write: write {\"n\":1}\n2. echo: echo {\"n\":2}");
    assert_eq!(*case.tools.ran.borrow(), ["write {\"n\":1}", "echo {\"n\":2}", "echo {\"n\":3}"]);
    assert_eq!((*case.tools.peak).get(), 1);
    assert_eq!(flow(&case), ["workflow running 0/2", "workflow running 1/2", "workflow complete 2/2"]);
    // The other step has its tools again.
    assert_eq!(requests[2].tool_choice, ToolChoice::Auto);
    assert!(requests[2].tools.iter().any(|tool| tool.name == "complete_step"));
    let tree = case.end().message.execution_tree.unwrap();
    assert!(tree.nodes[0].args_preview.as_ref().unwrap().contains("\"thought\":\"hm\""));
}

// W-053 W-054: an object that is wrong anywhere runs nothing. Its notes count: a model that writes them again would make
// the calls twice.
#[test]
fn nothing_runs_before_the_whole_object_is_right() {
    let case = structured(
        json!({}),
        vec![
            output(vec![("echo", json!({})), ("nothing", json!({}))], false, ""),
            Reply::Calls(vec![("__step_output__", json!({"isComplete": true, "toolCalls": []}))]),
            output(vec![("echo", json!({}))], true, ""),
            output(vec![], true, "Collect"),
        ],
    )
    .run();
    assert!(case.tools.ran.borrow().is_empty());
    let errors = case.lines().into_iter().filter(|line| line.contains("End error")).count();
    assert_eq!(errors, 3, "{:?}", case.lines());
    assert_eq!(left(&case).status, SessionStatus::Complete);
}

// The former version made the calls of such an object before it looked at the notes. A turn that had begun them goes on.
#[test]
fn calls_that_a_former_version_began_are_made() {
    let both = vec![("echo", json!({"n": 1})), ("echo", json!({"n": 2}))];
    let mut entries = structured(json!({}), vec![output(both, true, "Collect")]).run().disk.entries.take();
    let called = entries.iter().position(|entry| matches!(entry.fact, Fact::Called { .. })).unwrap();
    entries.truncate(called + 1);
    let journal = serde_json::to_string(&entries).unwrap().replace(&notes("Collect"), "Short.");
    let again = || output(vec![], true, "Collect");
    let mut case = structured(json!({}), vec![again(), again()]);
    case.disk.found(serde_json::from_str(&journal).unwrap());
    case.resume(None);
    assert_eq!(*case.tools.ran.borrow(), ["echo {\"n\":1}", "echo {\"n\":2}"]);
    let ends: Vec<String> =
        case.lines().into_iter().filter(|line| line.contains("__step_output__ End error")).collect();
    assert!(ends.len() == 1 && ends[0].contains("The step is not complete: notesMarkdown"), "{ends:?}");
    assert_eq!(left(&case).status, SessionStatus::Complete);
}

// W-029 W-058: calls come before the completion, and one that fails holds it.
#[test]
fn a_call_that_fails_holds_the_completion() {
    let case = structured(
        json!({}),
        vec![
            output(vec![("fail", json!({})), ("echo", json!({}))], true, "Early"),
            output(vec![], true, ""),
            output(vec![], true, "Collect"),
        ],
    )
    .run();
    assert_eq!(case.tools.ran.borrow().len(), 2);
    let results: Vec<String> =
        case.lines().into_iter().filter(|line| line.contains("__step_output__ End")).collect();
    assert!(results[0].contains("End error"), "readers must not take the step for complete: {results:?}");
    assert!(results[0].contains("A call failed, so the step is not complete"), "{results:?}");
    assert!(results[1].contains("error") && results[1].contains("these have 0"), "{results:?}");
    assert_eq!(left(&case).notes[0].notes, notes("Collect"));
}

// W-021: prose is no reply of such a step.
#[test]
fn prose_is_reminded() {
    let case = structured(json!({}), vec![Reply::Text("Done!"), output(vec![], true, "Collect")]).run();
    assert_eq!(requests(&case)[1].tool_choice, ToolChoice::Required);
    assert_eq!(flow(&case).last().unwrap(), "workflow complete 2/2");
}

// W-040: with a verifier the object only proposes.
#[test]
fn an_object_is_judged() {
    let verdict = json!({"assessment": "pass", "reasoning": "good"});
    let judged = |replies: Vec<Reply>| {
        let step = json!({"output_mode": "structured_output", "verifier": {"threshold": "medium"}});
        let case = on(
            session(&[("Collect", step), ("Write", json!({}))]),
            script(&[
                ("Collect", replies),
                ("verify Collect", vec![Reply::Calls(vec![("finish_subtask", verdict.clone())])]),
                ("Write", vec![Reply::Calls(vec![done("Write")])]),
                ("all done", vec![Reply::Text("Done.")]),
            ]),
        );
        case.run()
    };
    let case = judged(vec![output(vec![], true, "Collect")]);
    assert_eq!(left(&case).notes[0].notes, notes("Collect"));
    assert!(case.lines().iter().any(|line| line.contains("Proposed.")));
    // W-058: a call that fails holds the completion, so the verifier is asked about no notes.
    let case =
        judged(vec![output(vec![("fail", json!({}))], true, "Early"), output(vec![], true, "Collect")]);
    assert_eq!(left(&case).notes[0].notes, notes("Collect"));
    assert!(asked(&case, "You judge")[0].contains("has not said that the step is done"));
}
