//! `memory_list`, `memory_read`, `memory_write`: the turn's shared memory. The loop runs them, since it alone
//! holds the memory that a call may see.

use serde::Deserialize;
use serde_json::json;

use super::{Carrier, OwnCall};
use crate::memory::{AgentMemory, Overlay, check_write};
use crate::toolbelt::ToolError;
use crate::toolbelt::arguments;
use crate::toolbelt::declare;
use crate::toolbelt::{PermissionClass, ToolSpec};

pub const LIST: &str = "memory_list";
pub const READ: &str = "memory_read";
pub const WRITE: &str = "memory_write";

/// The operation of a call on the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    List,
    Read,
    Write,
}

/// Their facts.
pub(super) const LIST_CALL: OwnCall = OwnCall::plain(LIST, Carrier::Memory(Operation::List));
pub(super) const READ_CALL: OwnCall = OwnCall::plain(READ, Carrier::Memory(Operation::Read));
pub(super) const WRITE_CALL: OwnCall = OwnCall::plain(WRITE, Carrier::Memory(Operation::Write));

impl Operation {
    /// Answers from the memory that the call sees, and writes to the call's overlay.
    pub fn run(self, json: &str, seen: &AgentMemory, overlay: &mut Overlay) -> Result<String, ToolError> {
        match self {
            Operation::List => list(json, seen),
            Operation::Read => read(json, seen),
            Operation::Write => write(json, overlay),
        }
    }
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

pub(super) fn list_spec() -> ToolSpec {
    declare(
        LIST,
        PermissionClass::Knowledge,
        "Lists the keys of the memory that all levels of this turn share, with the size of each value.",
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
    )
}

pub(super) fn read_spec() -> ToolSpec {
    declare(
        READ,
        PermissionClass::Knowledge,
        "Reads one value of the turn's shared memory. A subtask's result stands under task:ID.",
        json!({
            "type": "object",
            "properties": {"key": {"type": "string"}},
            "required": ["key"],
            "additionalProperties": false,
            "examples": [{"key": "findings"}],
        }),
    )
}

pub(super) fn write_spec() -> ToolSpec {
    declare(
        WRITE,
        PermissionClass::Knowledge,
        "Writes one value to the turn's shared memory. Other calls of the same round do not see it; later ones do.",
        json!({
            "type": "object",
            "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
            "required": ["key", "value"],
            "additionalProperties": false,
            "examples": [{"key": "findings", "value": "Pears are cheaper."}],
        }),
    )
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
