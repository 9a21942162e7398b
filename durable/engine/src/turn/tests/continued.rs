//! A turn that a limit ended says what is left, and the next turn goes on from its history: what had finished does not
//! run again. Issue 19, 4.

use serde_json::json;

use super::faults::killed_at_every_commit;
use crate::plan::tests::project;
use crate::testing::*;
use crate::turn::{LEFT_CHARS, MAX_LEFT};
use wire::model::Message;
use wire::protocol::{BudgetReason, Event, LeftUndone, ReachedLimit};

fn undone(name: &str, title: Option<&str>, begun: bool) -> LeftUndone {
    LeftUndone { name: Some(name.to_owned()), title: title.map(str::to_owned), begun }
}

/// The results of the root's calls, in the model's order.
fn results(case: &Case) -> Vec<String> {
    let result = |message: &Message| match message {
        Message::Tool { content, .. } => Some(content.clone()),
        _ => None,
    };
    case.end().history.iter().filter_map(result).collect()
}

/// The last words of a turn, for the model.
fn last_words(case: &Case) -> String {
    match case.end().history.pop() {
        Some(Message::Assistant { content, .. }) => content,
        other => panic!("{other:?}"),
    }
}

/// The turn that continues an ended one, with these replies of its root.
fn continuing(ended: &Case, root: Vec<Reply>, levels: &[(&str, Vec<Reply>)]) -> Case {
    let mut case = Case::new(script(&[levels, &[("Continue.", root)]].concat()));
    case.content = "Continue.".to_owned();
    case.history = ended.end().history;
    case
}

/// A finished call; a subtask that is cut off with a text and two results; a call and a subtask that had not begun.
fn cut_off() -> Case {
    let child = vec![
        Reply::TextAndCalls("I look. ", vec![("echo", json!({"n": 1})), subtask("c")]),
        Reply::Calls(vec![("echo", json!({"n": 2}))]),
    ];
    Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![("echo", json!({"n": 0}))]),
                Reply::Calls(vec![("write", json!({})), subtask("a"), subtask("b")]),
            ],
        ),
        ("a", child),
        ("c", vec![Reply::Text("c done")]),
    ]))
    .limits(|limits| (limits.parallel, limits.tool_calls) = (1, 4))
    .run()
}

#[test]
fn a_limit_says_what_is_left_and_keeps_what_is_there() {
    let case = cut_off();
    let left = vec![
        undone("write", None, false),
        undone("run_subtask", Some("do a"), true),
        undone("run_subtask", Some("do b"), false),
    ];
    let stop = case.end().message.stop.unwrap();
    assert_eq!(stop.budget, Some(ReachedLimit { reason: BudgetReason::ToolCalls, limit: 4, observed: 5 }));
    assert_eq!((stop.code.as_str(), stop.is_limit()), ("budget_exceeded", true));
    let told = case.events().into_iter().find_map(|event| match event {
        Event::BudgetExceeded { left, .. } => Some(left),
        _ => None,
    });
    assert_eq!(told.as_ref(), Some(&stop.left), "live and stored say the same");
    assert_eq!(stop.left, left);
    let why = &stop.message;
    let results = results(&case);
    assert_eq!(results[0], r#"echo {"n":0}"#);
    assert!(results.contains(&format!("The call was not made. {why}")), "{results:#?}");
    let had = format!(
        "The call was stopped before it had its result. {why}\nIt had this so far, which stands:\n\n\
         It said:\nI look. \n\necho({{\"n\":1}}):\necho {{\"n\":1}}\n\n\
         run_subtask({{\"instructions\":\"c\",\"title\":\"do c\"}}):\nc done"
    );
    assert!(results.contains(&had), "{results:#?}");
    let expected = format!(
        "[This turn was stopped: {why}]\n[Left to do: write; run_subtask \"do a\"; run_subtask \"do b\". The results above stand: do not make their calls again.]"
    );
    assert_eq!(last_words(&case), expected);
}

// Other stops leave no list: nothing says that somebody wants the rest.
#[test]
fn only_a_limit_lists_what_is_left() {
    let mut case = Case::new(script(&[("go", vec![Reply::Calls(vec![("hang", json!({}))])])]));
    case.run_with(None, |turn, step| {
        if step == 6 {
            turn.stop(crate::journal::TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    let stop = case.end().message.stop.unwrap();
    assert_eq!((stop.left.len(), stop.budget, stop.is_limit()), (0, None, false));
    assert!(!last_words(&case).contains("Left to do"));

    let endless = vec![Reply::TextAndCalls("More. ", vec![("echo", json!({}))])];
    let case = Case::new(script(&[("go", endless)])).limits(|limits| limits.iterations = 2).run();
    assert!(case.end().message.stop.unwrap().is_limit(), "the model calls of a level are a limit too");
    assert!(last_words(&case).contains("[Left to do: the answer."), "{}", last_words(&case));
}

#[test]
fn a_note_names_twenty_pieces_of_work_at_most() {
    let of = |calls: usize| {
        let many = vec![Reply::Calls(vec![("echo", json!({})); calls])];
        let case = Case::new(script(&[("go", many)])).limits(|limits| limits.tool_calls = 0).run();
        case.end().message.stop.unwrap().left.len()
    };
    assert_eq!((of(20), of(21)), (MAX_LEFT, MAX_LEFT));
    let titled = |chars: usize| {
        let call = ("run_subtask", json!({"title": "ü".repeat(chars), "instructions": "a"}));
        let levels = [("go", vec![Reply::Calls(vec![call])])];
        let case = Case::new(script(&levels)).limits(|limits| limits.tool_calls = 0).run();
        case.end().message.stop.unwrap().left.remove(0).title.unwrap().chars().count()
    };
    assert_eq!((titled(80), titled(81)), (LEFT_CHARS, LEFT_CHARS));
}

// The results within a call that is cut off share the room of one result.
#[test]
fn what_a_cut_off_subtask_had_fits_into_one_result() {
    let long = ("echo", json!({"text": "x".repeat(3_000)}));
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a")])]),
        ("a", vec![Reply::Calls(vec![long; 4]), Reply::Text("never")]),
    ];
    let case = Case::new(script(&levels))
        .limits(|limits| (limits.llm_calls, limits.tool_result_bytes) = (2, 5_000))
        .run();
    let [result] = &results(&case)[..] else { panic!("one call") };
    assert!(result.len() <= 5_000, "{}", result.len());
    assert_eq!(result.matches("echo({").count(), 4, "each result has its part: {result}");
}

#[test]
fn a_continuation_makes_only_the_calls_that_are_left() {
    let ended = cut_off();
    let rest = vec![Reply::Calls(vec![("write", json!({})), subtask("b")]), Reply::Text("All is done.")];
    let case = continuing(&ended, rest, &[("b", vec![Reply::Text("b done")])]).run();
    assert_eq!(case.end().message.content, "All is done.");
    let all = [ended.tools.ran.borrow().clone(), case.tools.ran.borrow().clone()].concat();
    assert_eq!(all, [r#"echo {"n":0}"#, r#"echo {"n":1}"#, "write {}"], "each call ran once");
    let costs = case.end().message.usage.unwrap();
    assert_eq!((costs.llm_calls, costs.tool_calls), (3, 2), "its budget is its own");
    let first = &case.model.requests.borrow()[0];
    let sent: Vec<Message> = first.messages.iter().map(|message| Message::clone(message)).collect();
    let asked = Message::User { content: "Continue.".into() };
    assert_eq!(sent, [ended.end().history, vec![asked]].concat(), "the model sees the whole turn before");
    assert_eq!(case.end().history.len(), 5, "the history of the turn before is not stored again");
}

#[test]
fn a_kill_at_every_commit_of_a_continuation_loses_nothing() {
    let ended = cut_off();
    killed_at_every_commit(|| {
        let calls = vec![("write", json!({})), subtask("b"), subtask("a")];
        let rest = vec![Reply::Calls(calls), Reply::Calls(vec![subtask("b")]), Reply::Text("All is done.")];
        let b = vec![Reply::Calls(vec![("fail", json!({})), ("locked", json!({}))]), Reply::Text("b done")];
        let a = vec![Reply::Calls(vec![subtask("b")]), Reply::Text("a done")];
        continuing(&ended, rest, &[("b", b), ("a", a)])
    });
}

// The continuation knows the steps of a plan that the limit cut off: results, and the instructions of the rest.
#[test]
fn a_plan_that_is_cut_off_names_its_steps() {
    let steps: &[(&str, &[&str])] = &[("p", &[]), ("q", &["p"]), ("r", &["q"])];
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")])]),
        ("plan ship", vec![planned(steps)]),
        ("p", vec![Reply::Text("p done")]),
        ("q", vec![Reply::Calls(vec![("echo", json!({}))])]),
    ])
    .limits(|limits| limits.llm_calls = 4)
    .run();
    let left = case.end().message.stop.unwrap().left;
    let of: Vec<_> =
        left.iter().map(|left| (left.name.as_deref(), left.title.as_deref(), left.begun)).collect();
    assert_eq!(
        of,
        [
            (Some("agent_create_plan"), None, true),
            (Some("plan_step"), Some("Step q"), true),
            (None, Some("Step r"), false),
        ]
    );
    let [result] = &results(&case)[..] else { panic!("one call") };
    assert!(result.contains("):\np done"), "{result}");
    assert!(result.contains("echo({}):\necho {}"), "{result}");
    assert!(last_words(&case).contains("the plan's step \"Step r\": r"), "{}", last_words(&case));
}
