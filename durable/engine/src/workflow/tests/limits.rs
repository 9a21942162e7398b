//! The limits of a step's end, of a plan and of a structured reply: at each limit, and just beyond it.

use super::*;
use crate::workflow::ended::{Written, ended};
use wire::protocol::{
    MAX_ARTIFACT_CHARS, MAX_ARTIFACTS, MAX_CONTEXT_BYTES, MAX_NOTES_CHARS, MIN_NOTES_CHARS,
};

/// The member that refuses the end of a step; none where the step ends.
fn refused(session: &Session, members: Value) -> Option<&'static str> {
    let mut end = json!({"notesMarkdown": notes("Collect")});
    end.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let written: Written = serde_json::from_value(end).unwrap();
    ended(session, written).err().map(|(at, _)| at)
}

// W-068 W-074 CF-16: characters and not bytes, without the space around them.
#[test]
fn the_end_of_a_step_is_bounded() {
    let session = session(&plain(&["Collect"]));
    let of = |chars: usize| json!({"notesMarkdown": format!(" {}\n", "é".repeat(chars))});
    let artifacts = |count: usize| json!({"artifacts": vec!["a"; count]});
    let long = |chars: usize| json!({"artifacts": ["é".repeat(chars)]});
    let values = |bytes: usize| json!({"contextUpdates": {"k": "x".repeat(bytes - 8)}});
    let table = [
        (of(MIN_NOTES_CHARS), of(MIN_NOTES_CHARS - 1), "notesMarkdown"),
        (of(MAX_NOTES_CHARS), of(MAX_NOTES_CHARS + 1), "notesMarkdown"),
        (artifacts(MAX_ARTIFACTS), artifacts(MAX_ARTIFACTS + 1), "artifacts"),
        (long(MAX_ARTIFACT_CHARS), long(MAX_ARTIFACT_CHARS + 1), "artifacts"),
        (values(MAX_CONTEXT_BYTES), values(MAX_CONTEXT_BYTES + 1), "contextUpdates"),
    ];
    for (at, beyond, member) in table {
        assert_eq!(refused(&session, at), None, "{member}");
        assert_eq!(refused(&session, beyond), Some(member));
    }
}

// The limit is that of all values of a session together, and a value gives way to one of its name.
#[test]
fn the_values_of_all_steps_have_one_limit() {
    let mut session = session(&plain(&["Collect", "Write"]));
    session.context.insert("k".to_owned(), "x".repeat(MAX_CONTEXT_BYTES - 8).into());
    assert_eq!(refused(&session, json!({})), None);
    assert_eq!(refused(&session, json!({"contextUpdates": {"l": 1}})), Some("contextUpdates"));
    assert_eq!(refused(&session, json!({"contextUpdates": {"k": 1, "l": 1}})), None);
}

/// The number of calls that the tools got, and the results of the call of this name.
fn played(case: &Case, name: &str) -> (usize, Vec<bool>) {
    let ends = case.lines().into_iter().filter(|line| line.contains(&format!(" {name} End")));
    (case.tools.ran.borrow().len(), ends.map(|line| line.contains("End error")).collect())
}

fn of_one_step(more: Value, levels: Vec<(&str, Vec<Reply>)>) -> Case {
    let last = ("all done", vec![Reply::Text("Done.")]);
    let levels: Vec<_> = levels.into_iter().chain([last]).collect();
    on(session(&[("Collect", more)]), script(&levels)).run()
}

// W-031 W-053: a plan has at most 20 actions, and a longer one is refused before any of them runs.
#[test]
fn a_plan_has_at_most_twenty_actions() {
    let plan = |actions: usize| {
        let action = json!({"action": "echo", "args": {}, "expected_outcome": "good"});
        Reply::Calls(vec![("finish_subtask", json!({"plan": vec![action; actions]}))])
    };
    let noted = || Reply::Calls(vec![("finish_subtask", json!({"notesMarkdown": notes("Collect")}))]);
    let levels = vec![("plan Collect", vec![plan(21), plan(20)]), ("notes of Collect", vec![noted()])];
    let case = of_one_step(json!({"type": "planned"}), levels);
    let (ran, refused) = played(&case, "finish_subtask");
    assert_eq!((ran, refused), (20, vec![true, false, false]), "{:?}", case.lines());
    assert_eq!(left(&case).status, SessionStatus::Complete);
}

// W-053 W-055: the same of one structured reply.
#[test]
fn a_structured_reply_has_at_most_twenty_calls() {
    let output = |calls: usize| {
        let call = json!({"tool": "echo", "params": {}});
        let object = json!({
            "notesMarkdown": notes("Collect"), "isComplete": true, "toolCalls": vec![call; calls],
        });
        Reply::Calls(vec![("__step_output__", object)])
    };
    let levels = vec![("Collect", vec![output(21), output(20)])];
    let case = of_one_step(json!({"output_mode": "structured_output"}), levels);
    let (ran, refused) = played(&case, "__step_output__");
    assert_eq!((ran, refused), (20, vec![true, false]), "{:?}", case.lines());
    assert_eq!(left(&case).status, SessionStatus::Complete);
}

// W-034 W-103: the models that judge and note read long results cut, so their requests stay short.
#[test]
fn a_verifier_and_the_notes_read_long_results_cut() {
    let long = || json!({"text": "x".repeat(6_000)});
    let verdict = || Reply::Calls(vec![("finish_subtask", json!({"assessment": "pass", "reasoning": "r"}))]);
    let batch = Reply::Calls((0..4).map(|_| ("echo", long())).collect());
    let levels = vec![
        ("Collect", vec![batch, Reply::Calls(vec![done("Collect")])]),
        ("verify Collect", vec![verdict()]),
    ];
    let judged = of_one_step(json!({"verifier": {"threshold": "low"}}), levels);
    let actions: Vec<Value> =
        (0..4).map(|_| json!({"action": "echo", "args": long(), "expected_outcome": "good"})).collect();
    let noted = Reply::Calls(vec![("finish_subtask", json!({"notesMarkdown": notes("Collect")}))]);
    let levels = vec![
        ("plan Collect", vec![Reply::Calls(vec![("finish_subtask", json!({"plan": actions}))])]),
        ("notes of Collect", vec![noted]),
    ];
    let planned = of_one_step(json!({"type": "planned"}), levels);
    let asked = |case: &Case, begins: &str| -> Vec<usize> {
        let asked = requests(case).into_iter().filter(|request| request.system.starts_with(begins));
        asked.map(|request| result_chars(&request)).collect()
    };
    let verifier = asked(&judged, "You judge the work of another model");
    assert!(verifier.len() == 2 && verifier.iter().all(|chars| *chars < 10_000), "{verifier:?}");
    let notes = asked(&planned, "You write the notes of one step");
    // The arguments of the plan are whole: its model wrote them.
    assert!(notes.len() == 1 && notes[0] < 4 * (6_000 + 4_500), "{notes:?}");
}

fn result_chars(request: &ModelRequest) -> usize {
    match &*request.messages[0] {
        Message::User { content } => content.text().len(),
        _ => 0,
    }
}

#[test]
fn the_declaration_has_the_least_length_of_notes() {
    let schema: serde_json::Value =
        serde_json::from_str(super::super::complete::spec().input_schema.0.get()).unwrap();
    assert_eq!(schema["properties"]["notesMarkdown"]["minLength"], json!(MIN_NOTES_CHARS));
}
