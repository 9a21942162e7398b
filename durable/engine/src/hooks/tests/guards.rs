//! The operator's hooks: models of the operator's choice judge for them, whichever models a request names, and where they may
//! block they cannot be talked into leaving.

use serde_json::json;

use super::*;
use crate::journal::{CallRecord, Fact, Guards, LEAST_READER, TurnSpec};
use crate::profiles::{Chain, Role};
use crate::turn::tests::faults::killed_at_every_commit;

/// A turn with hooks of the operator, and behind them hooks of the thread. Its request named the model `m1`.
fn guarded(operators: Value, of_thread: Value, script: Script) -> Case {
    let read = |hooks: Value| from_variable(&hooks.to_string()).unwrap();
    let mut case = Case::new(script);
    let operators = read(operators);
    let models = Some(Chain::of(offer("strict", Default::default())));
    case.setting.guards = Some(Guards { hooks: operators.len(), models });
    case.setting.hooks = operators.into_iter().chain(read(of_thread)).collect();
    case
}

/// Each model that was asked, in order.
fn models(case: &Case) -> Vec<String> {
    case.model.requests.borrow().iter().map(|request| request.model.model.clone()).collect()
}

fn own(instructions: &str) -> Value {
    json!([{"name": "own", "on": "action", "match": ["echo"], "instructions": instructions}])
}

fn echo() -> Reply {
    Reply::Calls(vec![("echo", json!({}))])
}

/// An operator's hook and one of the thread, in the root and in a subtask.
pub(crate) fn golden() -> Case {
    guarded(
        guard("guard"),
        own("own"),
        script(&[
            ("go", vec![echo(), Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", vec![echo(), Reply::Text("ok")]),
            ("guard echo {}", vec![verdict("allow", "")]),
            ("own echo {}", vec![verdict("quit", "")]),
            ("judge", vec![verdict("allow", "")]),
        ]),
    )
}

// Issue 42, M3: the whole story. The request's model answers, and judges for the thread's hook; the operator's model judges
// for the operator's hook and for its copy.
// Long: the whole list of events.
#[test]
fn models_of_the_operator_judge_for_the_operator() {
    let case = golden().run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:echo",
            "hook 0.0h0 guard start",
            "model 0.0h0-hook-0 start in 0.0h0 depth 1",
            "model 0.0h0-hook-0 End tool_calls in 0.0h0 depth 1",
            "tool 0.0h0-hook-0.0 finish_subtask Start in 0.0h0 depth 1",
            "tool 0.0h0-hook-0.0 finish_subtask End \"accepted\" in 0.0h0 depth 1",
            "hook 0.0h0 guard Allow",
            "hook 0.0h1 own start",
            "model 0.0h1-hook-0 start in 0.0h1 depth 1",
            "model 0.0h1-hook-0 End tool_calls in 0.0h1 depth 1",
            "tool 0.0h1-hook-0.0 finish_subtask Start in 0.0h1 depth 1",
            "tool 0.0h1-hook-0.0 finish_subtask End \"accepted\" in 0.0h1 depth 1",
            "hook 0.0h1 own Quit",
            "tool 0.0 echo Start",
            "tool 0.0 echo End \"echo {}\"",
            "state thinking",
            "model 1 start",
            "model 1 End tool_calls",
            "state executing_tool:run_subtask",
            "hook 1.0h0 guard start",
            "model 1.0h0-hook-0 start in 1.0h0 depth 1",
            "model 1.0h0-hook-0 End tool_calls in 1.0h0 depth 1",
            "tool 1.0h0-hook-0.0 finish_subtask Start in 1.0h0 depth 1",
            "tool 1.0h0-hook-0.0 finish_subtask End \"accepted\" in 1.0h0 depth 1",
            "hook 1.0h0 guard Allow",
            "tool 1.0 run_subtask Start",
            "model 1.0-0 start in 1.0 depth 1",
            "model 1.0-0 End tool_calls in 1.0 depth 1",
            "hook 1.0-0.0h0 guard start in 1.0 depth 1",
            "model 1.0-0.0h0-hook-0 start in 1.0-0.0h0 depth 2",
            "model 1.0-0.0h0-hook-0 End tool_calls in 1.0-0.0h0 depth 2",
            "tool 1.0-0.0h0-hook-0.0 finish_subtask Start in 1.0-0.0h0 depth 2",
            "tool 1.0-0.0h0-hook-0.0 finish_subtask End \"accepted\" in 1.0-0.0h0 depth 2",
            "hook 1.0-0.0h0 guard Allow in 1.0 depth 1",
            "hook 1.0-0.0h1 own start in 1.0 depth 1",
            "model 1.0-0.0h1-hook-0 start in 1.0-0.0h1 depth 2",
            "model 1.0-0.0h1-hook-0 End tool_calls in 1.0-0.0h1 depth 2",
            "tool 1.0-0.0h1-hook-0.0 finish_subtask Start in 1.0-0.0h1 depth 2",
            "tool 1.0-0.0h1-hook-0.0 finish_subtask End \"accepted\" in 1.0-0.0h1 depth 2",
            "hook 1.0-0.0h1 own Quit in 1.0 depth 1",
            "tool 1.0-0.0 echo Start in 1.0 depth 1",
            "tool 1.0-0.0 echo End \"echo {}\" in 1.0 depth 1",
            "model 1.0-1 start in 1.0 depth 1",
            "chunk 1.0-1.0 \"ok\" in 1.0 depth 1",
            "chunk 1.0-1.0 \"\" done in 1.0 depth 1",
            "model 1.0-1 End stop in 1.0 depth 1",
            "tool 1.0 run_subtask End \"ok\"",
            "state thinking",
            "model 2 start",
            "chunk 2.0 \"Done.\"",
            "chunk 2.0 \"\" done",
            "model 2 End stop",
            "cost 10 llm 8 tools 1 subtasks",
            "done Stop",
        ]
    );
    assert_eq!(models(&case), ["m1", "strict", "m1", "m1", "strict", "m1", "strict", "m1", "m1", "m1"]);
    let profiles = case.end().calls.into_iter().filter_map(|row| match row {
        CallRecord::Model { operation_type, profile, .. } if operation_type == "hook" => Some(profile),
        _ => None,
    });
    assert_eq!(profiles.collect::<Vec<_>>(), ["guard", "primary", "guard", "guard", "primary"]);
}

// Issue 42, M3: without models of its own the guard asks those of the turn, because they are the same. So it does in a turn
// that former code began, whose entry 0 does not say which hooks are the operator's; there it may quit as it did.
#[test]
fn a_turn_of_former_code_keeps_its_judge() {
    let levels = || {
        script(&[
            ("go", vec![echo(), echo(), Reply::Text("Done.")]),
            ("guard echo {}", vec![verdict("quit", ""), verdict("block", "no")]),
        ])
    };
    let former = hooked(guard("guard"), levels()).run();
    assert_eq!(models(&former), ["m1"; 4], "it is asked once");
    assert_eq!(*former.tools.ran.borrow(), ["echo {}", "echo {}"]);
    let mut same = guarded(guard("guard"), json!([]), levels());
    same.setting.guards = Some(Guards { hooks: 1, models: None });
    let same = same.run();
    assert_eq!(models(&same), ["m1"; 7], "twice about each call");
    assert!(same.tools.ran.borrow().is_empty());
}

// Issue 42, M3: the operator's guard has no way to quit, so no text that it judges can end it.
#[test]
fn a_guard_of_the_operator_cannot_quit() {
    let quits = || {
        script(&[
            ("go", vec![echo(), Reply::Text("Done.")]),
            ("guard echo {}", vec![verdict("quit", ""), verdict("quit", "")]),
            ("own echo {}", vec![verdict("quit", "")]),
        ])
    };
    let case = guarded(guard("guard"), json!([]), quits()).run();
    assert!(case.tools.ran.borrow().is_empty());
    let blocked = r#"hook 0.0h0 guard Block failed "it gave no verdict: its answer was not understood""#;
    assert!(case.lines().contains(&blocked.to_owned()), "{:#?}", case.lines());
    let asked = case.model.requests.borrow()[1].clone();
    let schema = asked.tools[0].input_schema.0.get().to_owned();
    assert!(!asked.system.contains("quit") && !schema.contains("quit"), "{}\n{schema}", asked.system);

    // The thread's own hooks may, and so may hooks of the operator that only comment.
    let case = guarded(json!([]), own("own"), quits()).run();
    assert_eq!(*case.tools.ran.borrow(), ["echo {}"]);
    let reader = json!([{"name": "reader", "on": "result", "instructions": "read"}]);
    let comments = script(&[
        ("go", vec![echo(), echo(), Reply::Text("Done.")]),
        ("read ", vec![verdict("quit", ""), verdict("comment", "never")]),
    ]);
    let case = guarded(reader, json!([]), comments).run();
    assert_eq!(models(&case), ["m1", "strict", "m1", "m1"]);
}

// Issue 42, M3: a hook for the root alone stands before the one that has copies, and the copy is still the operator's.
#[test]
fn a_copy_is_the_operators_where_its_hook_is() {
    let operators = json!([
        {"name": "first", "on": "action", "of": "main", "match": ["fail"], "instructions": "first"},
        {"name": "guard", "on": "action", "match": ["echo"], "instructions": "guard"},
    ]);
    let levels = script(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
        ("a", vec![echo(), Reply::Text("ok")]),
        ("guard echo {}", vec![verdict("allow", "")]),
        ("own echo {}", vec![verdict("allow", "")]),
    ]);
    let case = guarded(operators, own("own"), levels).run();
    assert_eq!(models(&case), ["m1", "m1", "strict", "m1", "m1", "m1"]);
}

#[test]
fn a_guarded_turn_that_dies_keeps_its_judge() {
    killed_at_every_commit(golden);
    let whole = golden().run();
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = golden();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.setting.guards = None;
        case.resume(None);
        let openings = case.disk.entries.borrow();
        let judged = openings.iter().filter_map(|entry| match &entry.fact {
            Fact::Opened(spec) if entry.at.contains("h0-hook-") => Some(spec.models),
            _ => None,
        });
        assert!(judged.clone().count() == 3 && judged.clone().all(|models| models == Some(Role::Guard)));
    }
}

// Issue 42, M3: code that does not know the operator's hooks apart would have the request's models judge for them.
#[test]
fn older_code_does_not_go_on_with_a_guarded_turn() {
    let mut spec = TurnSpec { estimates: 0, ..golden().spec() };
    assert_eq!(spec.clone().with_least_reader().least_reader, 5);
    spec.setting.guards = None;
    assert_eq!(spec.clone().with_least_reader().least_reader, 3);
    spec.setting.hooks.clear();
    assert_eq!(spec.clone().with_least_reader().least_reader, LEAST_READER);
}

// A-017: a model that judges for the operator may repeat the operator's instructions. Readers get none of its words, and a call
// that failed keeps none.
#[test]
fn the_words_of_a_guard_reach_nobody() {
    let fails = Reply::Fail("My secret: ", ModelErrorKind::Overloaded);
    for reply in [Reply::Text("My secret."), fails] {
        let levels = [("go", vec![echo(), Reply::Text("Done.")]), ("guard echo {}", vec![reply])];
        let case = guarded(guard("guard"), json!([]), script(&levels)).run();
        let events = case.events();
        assert!(!events.iter().any(|event| format!("{event:?}").contains("secret")), "{:?}", case.lines());
        let entries = case.disk.entries.borrow();
        let failed = entries.iter().map(|entry| serde_json::to_string(entry).unwrap());
        let mut failed =
            failed.filter(|entry| entry.contains(r#""failed""#) && entry.contains("model_ended"));
        assert!(!failed.any(|entry| entry.contains("secret")));
    }
}
