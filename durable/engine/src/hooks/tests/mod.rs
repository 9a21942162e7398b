//! Hooks in turns: the points at which they are asked, their verdicts, their copies, and the built-in ones.

pub(crate) mod answers;
mod builtins;
mod copies;
mod definitions;
mod drafts;
pub(crate) mod guards;
mod known_files;
pub(crate) mod lives;
mod lost;
mod points;
mod random;
mod smart;

use serde_json::{Value, json};

use crate::hooks::from_variable;
use crate::marks::{HOOK, author};
use crate::testing::*;
use wire::model::ModelErrorKind;

/// A turn with hooks, written as an operator writes them.
pub(crate) fn hooked(hooks: Value, script: Script) -> Case {
    let mut case = Case::new(script);
    case.setting.hooks = from_variable(&hooks.to_string()).unwrap();
    case
}

/// A turn whose root makes these rounds of calls, then answers.
pub(super) fn rounds(hooks: Value, rounds: Vec<Vec<(&'static str, Value)>>) -> Case {
    let replies = rounds.into_iter().map(Reply::Calls).chain([Reply::Text("Done.")]);
    hooked(hooks, script(&[("go", replies.collect())]))
}

/// The reply of a hook's model.
pub(crate) fn verdict(decision: &'static str, text: &'static str) -> Reply {
    Reply::Calls(vec![("finish_subtask", json!({"decision": decision, "text": text}))])
}

/// A guard with these instructions.
pub(super) fn guard(instructions: &str) -> Value {
    json!([{"name": "guard", "on": "action", "instructions": instructions}])
}

/// The lines of the hooks, and those of the results of tools.
pub(super) fn said(case: &Case) -> Vec<String> {
    let is_told =
        |line: &String| line.starts_with("hook ") || (line.starts_with("tool ") && line.contains(" End"));
    case.lines().into_iter().filter(is_told).collect()
}

/// The comments in the last request of the root, each behind the name of its hook.
pub(super) fn comments(case: &Case) -> Vec<String> {
    let requests = case.model.requests.borrow();
    let messages = requests.last().unwrap().messages.iter();
    let texts = messages.filter_map(|message| match message.as_ref() {
        wire::model::Message::User { content } => Some(content.text().into_owned()),
        _ => None,
    });
    let read = |text: String| author(HOOK, &text).map(|(hook, text)| format!("[hook {hook}] {text}"));
    texts.filter_map(read).collect()
}

/// Hooks of each kind: one comments, one blocks, one fails, one quits; and the agent makes one.
pub(crate) fn every_kind() -> Case {
    let hooks = json!([
        {"name": "greeter", "on": "input", "of": "main", "instructions": "greet"},
        {"name": "guard", "on": "action", "match": ["write", "echo"], "instructions": "guard", "reads": ["plan"]},
        {"name": "lost", "on": "action", "match": ["locked"], "instructions": "lost"},
        {"name": "todo", "builtin": "todo_reminder", "options": {"every": 2}},
    ]);
    let own = || ("hook", json!({"name": "own", "builtin": "loop_guard"}));
    let mut case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![("write", json!({})), own()]),
                Reply::Calls(vec![("echo", json!({})), ("locked", json!({}))]),
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("greet ", vec![verdict("comment", "Be kind.")]),
        ("guard write {}", vec![verdict("block", "no writing")]),
        ("guard echo {}", vec![verdict("quit", "")]),
        ("lost locked {}", vec![Reply::Fail("", ModelErrorKind::Overloaded)]),
    ]));
    case.setting.hooks = crate::hooks::from_variable(&hooks.to_string()).unwrap();
    case.setting.agent_hooks = true;
    case
}

// the declaration names the built-in hooks that there are.
#[test]
fn the_declaration_names_each_built_in_hook() {
    let schema: serde_json::Value = serde_json::from_str(super::call::spec().input_schema.0.get()).unwrap();
    let names: Vec<&str> = super::BUILTIN.iter().map(|builtin| builtin.name).collect();
    assert_eq!(schema["properties"]["builtin"]["enum"], json!(names));
}
