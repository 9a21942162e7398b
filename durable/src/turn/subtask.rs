//! `run_subtask`: the loop, one level deeper, inside a call of its parent's round.

use std::rc::Rc;

use serde_json::json;

use super::drive::drive;
use super::keys::LevelPath;
use super::machine::{Level, LevelEnd, LevelStart};
use super::{Halt, Turn, prompt};
use crate::memory::Overlay;
use crate::ports::ToolError;
use crate::protocol::Place;
use crate::toolbelt::OutputSchema;
use crate::tools::{finish_subtask, run_subtask};

/// Runs a subtask to its end. A failure of its level is an error result for the parent, not the turn's (N-177,
/// CF-13). What the level wrote to memory becomes the call's overlay, its result under `task:ID` included.
pub(super) async fn run(
    turn: &Turn,
    parent: &Level,
    key: &str,
    arguments: &str,
    overlay: &mut Overlay,
) -> Result<Result<String, ToolError>, Halt> {
    let arguments = match run_subtask::arguments(arguments) {
        Ok(arguments) => arguments,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let schema =
        match arguments.output_schema.map(|schema| OutputSchema::compile(Rc::new(schema))).transpose() {
            Ok(schema) => schema.map(Rc::new),
            Err(refusal) => {
                return Ok(Err(ToolError(format!("invalid arguments at output_schema: {refusal}"))));
            }
        };
    let id = turn.ids.tool_call(key);
    let (belt, unknown) = match &arguments.tools {
        Some(names) => parent.belt.narrowed(names),
        None => (parent.belt.clone(), Vec::new()),
    };
    let finish = schema.as_ref().map(|schema| finish_subtask::spec(schema.source()));
    let belt = belt.replacing(finish_subtask::NAME, finish);
    let depth = parent.place.depth + 1;
    let start = LevelStart {
        path: LevelPath::child(key),
        place: Place { parent_id: Some(id.clone()), depth },
        model: Rc::clone(&turn.spec.chain_at(depth).first.choice),
        system: prompt::subtask(depth, schema.is_some(), &turn.spec.limits),
        history: Vec::new(),
        instructions: arguments.instructions,
        belt,
        schema,
        memory: parent.memory.fork(),
        digest: parent.digest().with(key),
    };
    let mut level = Level::new(start, turn.spec.limits);
    let end = drive(turn, &mut level).await?;
    *overlay = level.into_written();
    let result = match end {
        LevelEnd::Text { text, .. } => {
            overlay.insert(format!("task:{id}"), text.clone());
            Ok(with_note(text, &unknown))
        }
        LevelEnd::Structured(payload) => {
            overlay.insert(format!("task:{id}"), payload.clone());
            Ok(payload)
        }
        LevelEnd::SchemaNotSatisfied(objection) => {
            Err(json!({"error": "schema_not_satisfied", "message": objection}))
        }
        LevelEnd::IterationLimit(limit) => Err(json!({
            "error": "iteration_limit",
            "limit": limit,
            "message": "The subtask made all the model calls that it may without coming to an answer.",
        })),
        LevelEnd::ModelFailed(error) => Err(json!({"error": error.kind.code(), "message": error.message})),
    };
    Ok(result.map_err(|error| ToolError(error.to_string())))
}

fn with_note(text: String, unknown: &[String]) -> String {
    if unknown.is_empty() {
        return text;
    }
    format!("{text}\n\n[These tools are not yours to give and were left out: {}]", unknown.join(", "))
}
