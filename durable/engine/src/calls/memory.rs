//! `memory_list`, `memory_read`, `memory_write`: the turn's shared memory. A call reads it as its level saw it
//! when the round began.

use serde::Deserialize;

use crate::memory::{AgentMemory, MAX_TURN_BYTES, Overlay, check_write};
use crate::own::OwnCall;
use crate::toolbelt::{ToolError, ToolSpec, arguments};
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};

pub const LIST: &str = "memory_list";
pub const READ: &str = "memory_read";
pub const WRITE: &str = "memory_write";

/// The part of the root's prompt on the memory.
pub(crate) const GUIDANCE: &str = "The memory tools share state across the rounds of this turn and across the whole tree of subtasks; the \
     result of each subtask is stored there under task:ID. What is written in one reply can be read from the next \
     one on. The memory is empty at the start of each turn.\n";

pub(crate) const LIST_CALL: Own =
    own(LIST, |turn, level, arguments| answer(turn, |_| list(arguments, &level.memory)));
pub(crate) const READ_CALL: Own =
    own(READ, |turn, level, arguments| answer(turn, |_| read(arguments, &level.memory)));
pub(crate) const WRITE_CALL: Own =
    own(WRITE, |turn, _, arguments| answer(turn, |overlay| write(arguments, overlay)));

const fn own(name: &'static str, carry_out: fn(&Turn, &Level, &str) -> Outcome) -> Own {
    Own { facts: OwnCall::plain(name), carrier: Carrier::AtOnce(carry_out) }
}

/// The outcome of a call, if the turn has room for its writes.
fn answer(turn: &Turn, run: impl FnOnce(&mut Overlay) -> Result<String, ToolError>) -> Outcome {
    let mut overlay = Overlay::new();
    let result = run(&mut overlay);
    if turn.record.borrow().memory_has_room(&overlay) {
        return Outcome { overlay, ..Outcome::of(result) };
    }
    let full = format!("the memory is full: a turn may write {MAX_TURN_BYTES} bytes in all");
    Outcome::of(Err(ToolError(full)))
}

#[derive(Deserialize)]
struct ListArguments {}

#[derive(Deserialize)]
struct ReadArguments {
    key: String,
}

#[derive(Deserialize)]
struct WriteArguments {
    key: String,
    value: String,
}

pub(crate) fn list_spec() -> ToolSpec {
    super::declared(LIST)
}

pub(crate) fn read_spec() -> ToolSpec {
    super::declared(READ)
}

pub(crate) fn write_spec() -> ToolSpec {
    super::declared(WRITE)
}

/// Answers a list call.
pub fn list(json: &str, memory: &AgentMemory) -> Result<String, ToolError> {
    let ListArguments {} = arguments::read(&list_spec(), json)?;
    let lines: Vec<String> = memory.list().map(|(key, bytes)| format!("{key} ({bytes} bytes)")).collect();
    Ok(if lines.is_empty() { "the memory is empty".to_owned() } else { lines.join("\n") })
}

/// Answers a read call.
pub fn read(json: &str, memory: &AgentMemory) -> Result<String, ToolError> {
    let ReadArguments { key } = arguments::read(&read_spec(), json)?;
    memory.read(&key).map(str::to_owned).ok_or_else(|| ToolError(format!("nothing is stored under {key:?}")))
}

/// Adds a write call's value to its overlay.
pub fn write(json: &str, overlay: &mut Overlay) -> Result<String, ToolError> {
    let WriteArguments { key, value } = arguments::read(&write_spec(), json)?;
    check_write(&key, &value).map_err(ToolError)?;
    let told = format!("stored under {key:?}");
    overlay.insert(key, value);
    Ok(told)
}
