//! Hooks: rules that watch an agent, and models that judge for one. `turn/hooking.rs` asks them; it knows a hook by its
//! [`Judge`] alone.
//!
//! A built-in hook is a file here and a line of [`BUILTIN`]. It says when it is asked, which options it has, and how it
//! decides: by a [`Rule`](crate::turn::hooking::Rule), from the level, the call and a state of its own, or by a model
//! (`smart`). `define` reads and checks the definitions of all hooks; `call` is the tool by which an agent makes one.
//!
//! `turn/hooking.rs` asks the hooks of a level at three points: before a model call, where they may comment, before a
//! call is admitted, where they may block it (`turn/round/judging.rs`), and before anybody gets a drafted answer,
//! which they may block as well (`turn/answering.rs`). It knows a hook by its `Judge`: a `Rule`, which decides at
//! once, or a model. The rules stand in the room `hooks`, a file each, and `BUILTIN` lists them. A hook that asks a
//! model is a level like any (`calls/question.rs`), so budget, journal, tree and telemetry treat it like any.
//!
//! Entry 0 has the hooks of the root, and says how many of them, from the first on, are the operator's (`guards`),
//! with the models that judge for these. So no request chooses the judge, and a deploy in mid-turn changes none.
//! `Turn::child` gives each child level its copies, and no other function does: levels that answer one question, hooks
//! among them, have none. A verdict is journaled (`hook_said`) with the state that the copy has from then on, and
//! `Record::apply` keeps both. A rule that has no objection, and whose state stays as it is, leaves no trace. A hook
//! that a call makes is a part of the call's outcome, and the level has it from the end of the round on. So live and
//! in replay each question meets the same hooks.
//!
//! A level whose answers hooks judge is silent (`drive.rs`). The outcome of its model call is `ModelOutcome::Drafted`,
//! which older code cannot read, and the level asks for `Step::Judge` in place of its end. `level/drafts.rs` says
//! which of its messages may leave it. A draft that passes is one commit: `answer_passed`, and the text as events.
//!
//! An entry 0 with hooks names a newer reader, so code without hooks never goes on with such a turn; one with the
//! operator's hooks names a still newer one.

pub mod call;
mod define;
mod file_changed;
mod garbage_collector;
mod limit;
mod loop_guard;
mod planning_mode;
mod single_minded;
mod smart;
mod steelman;
#[cfg(test)]
pub(crate) mod tests;
mod todo_reminder;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use define::{MAX_HOOKS, MAX_HOOKS_BYTES, check_name, check_together, define, from_variable, put};

use crate::toolbelt::{ToolSpec, arguments};
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::model::ToolCall;
use wire::protocol::{Hook, HookPoint};

/// A hook that is built in.
pub(crate) struct Builtin {
    name: &'static str,
    /// When it may be asked; the first is the default.
    points: &'static [HookPoint],
    /// The calls that it watches where its definition names none; empty for all.
    calls: &'static [&'static str],
    options: &'static [Choice],
    judge: Judge,
}

/// An option of a built-in hook.
pub(crate) struct Choice {
    name: &'static str,
    kind: Kind,
}

/// The values of an option.
#[derive(Clone, Copy)]
enum Kind {
    /// A number from 1 to [`MAX_COUNT`].
    Count,
    /// A text of at most [`MAX_TEXT_BYTES`].
    Text,
}

/// The largest number of an option: no turn makes more calls.
const MAX_COUNT: u64 = 1_000;
/// The longest text of an option, in bytes.
const MAX_TEXT_BYTES: usize = 500;

/// All of them.
const BUILTIN: &[&Builtin] = &[
    &planning_mode::HOOK,
    &todo_reminder::HOOK,
    &file_changed::HOOK,
    &garbage_collector::HOOK,
    &single_minded::HOOK,
    &limit::SPAWN_LIMIT,
    &limit::DISCUSS_LIMIT,
    &loop_guard::HOOK,
    &steelman::HOOK,
];

fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|builtin| builtin.name == name).copied()
}

/// The way in which a hook comes to its verdicts.
pub(crate) fn judge(hook: &Hook) -> Judge {
    match &hook.builtin {
        None => Judge::Model(&smart::Instructed),
        Some(name) => builtin(name).map_or(Judge::Rule(&Unknown), |builtin| builtin.judge),
    }
}

/// Whether a model judges for a hook: it has words that say how.
pub fn asks_model(hook: &Hook) -> bool {
    matches!(judge(hook), Judge::Model(_))
}

/// Whether the model must be able to write its list of things to do, because a hook speaks of it.
pub fn speak_of_todos<'a>(mut hooks: impl Iterator<Item = &'a Hook>) -> bool {
    hooks.any(|hook| hook.builtin.as_deref() == Some(todo_reminder::HOOK.name))
}

/// A built-in hook that this version of the service does not have: it gives no verdict.
struct Unknown;

impl Rule for Unknown {
    fn judge(&self, _: &Asked<'_>) -> Result<Said, String> {
        Err("this version of the service does not have it".to_owned())
    }
}

/// The number under an option.
fn count(hook: &Hook, option: &str, default: u32) -> u32 {
    let chosen = hook.options.get(option).and_then(serde_json::Value::as_u64);
    chosen.and_then(|chosen| u32::try_from(chosen).ok()).unwrap_or(default)
}

/// The text under an option.
fn text<'a>(hook: &'a Hook, option: &str) -> Option<&'a str> {
    hook.options.get(option).and_then(serde_json::Value::as_str)
}

/// The state of a hook; the default at first.
fn state<T: DeserializeOwned + Default>(asked: &Asked<'_>) -> Result<T, String> {
    match asked.state {
        "" => Ok(T::default()),
        state => wire::json::from_str(state).map_err(|error| format!("its state cannot be read: {error}")),
    }
}

/// A state as the journal keeps it.
fn kept<T: Serialize>(state: &T) -> Option<String> {
    serde_json::to_string(state).ok()
}

/// The agent that a call of `task` names, as the call itself reads it.
fn agent_in(task: &ToolSpec, call: &ToolCall) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    arguments::read(task, &call.arguments).ok().map(|Named { name }| name)
}

/// The calls that act on agents.
const TASK: &str = "task";
const DISCUSS: &str = "discuss";
const TERMINATE: &str = "terminate";
const RESTORE: &str = "restore_agent";
const TODO_WRITE: &str = "todo_write";

/// The declaration of a call of this folder. Hooks are asked in the order in which they were made.
fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}
