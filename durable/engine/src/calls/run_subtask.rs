//! `run_subtask`: the declaration and the arguments of a call. The loop carries it out by entering itself one
//! level deeper.

use serde::Deserialize;
use serde_json::json;

use super::OwnCall;
use crate::toolbelt::ToolError;
use crate::toolbelt::arguments::{self, refused};
use crate::toolbelt::declare;
use crate::toolbelt::{PermissionClass, ToolSpec};
use wire::model::RawValueEq;

pub const NAME: &str = "run_subtask";

/// Its facts.
pub(super) const CALL: OwnCall = OwnCall {
    counts_as_subtask: true,
    has_title: true,
    stands_for_inner: true,
    ..OwnCall::composite(NAME, 1)
};

/// The arguments of a subtask, as the model writes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Arguments {
    /// A short label for people.
    pub title: String,
    /// All the information that the subtask gets, beside the shared memory.
    pub instructions: String,
    /// A subset of the caller's tools; absent means all of them.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// The schema of the result. Without one the result is the text of the last reply.
    #[serde(default)]
    pub output_schema: Option<RawValueEq>,
}

/// The schema exactly as the model wrote it.
#[derive(Deserialize)]
struct AsWritten {
    output_schema: Option<RawValueEq>,
}

/// Reads and checks the arguments; the model reads the error.
pub fn arguments(json: &str) -> Result<Arguments, ToolError> {
    let mut arguments: Arguments = arguments::read(&spec(), json)?;
    let is_object = |schema: &RawValueEq| schema.0.get().starts_with('{');
    if arguments.output_schema.as_ref().is_some_and(|schema| !is_object(schema)) {
        return Err(refused(&spec(), "output_schema", "it must be an object: a JSON Schema"));
    }
    // Models write a result in the order of the schema's members, so the schema keeps that order.
    if let Ok(AsWritten { output_schema: Some(schema) }) = serde_json::from_str(json)
        && is_object(&schema)
    {
        arguments.output_schema = Some(schema);
    }
    for (name, value) in [("title", &arguments.title), ("instructions", &arguments.instructions)] {
        if value.trim().is_empty() {
            return Err(refused(&spec(), name, "it must not be blank"));
        }
    }
    Ok(arguments)
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = declare(
        NAME,
        PermissionClass::Subagent,
        "Runs a subtask in a fresh context of its own and returns its final answer. The subtask sees only the \
         instructions and the shared memory, not this conversation. Several calls in one reply run at the same time.",
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "a short label that people see"},
                "instructions": {"type": "string", "description": "everything that the subtask must know"},
                "tools": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "the tools that it may use, from your own; all of them if absent",
                },
                "output_schema": {
                    "type": "object",
                    "description": "a JSON Schema of type object: the result is then JSON that satisfies it",
                },
            },
            "required": ["title", "instructions"],
            "additionalProperties": false,
            "examples": [{"title": "Prices", "instructions": "Find out what a pear costs, and answer in one line."}],
        }),
    );
    // The turn's deadline bounds a subtask, and the engine journals the calls within it one by one.
    spec.timeout_ms = None;
    spec
}

/// The label of a call, read even if its other arguments are wrong.
pub fn title(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Titled {
        title: String,
    }
    serde_json::from_str(json).ok().map(|Titled { title }| title)
}
