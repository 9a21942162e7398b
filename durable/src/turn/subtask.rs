//! `run_subtask`: the loop, one level deeper, inside a call of its parent's round.

use std::rc::Rc;

use serde_json::json;

use super::drive::drive;
use super::keys::LevelPath;
use super::machine::{Level, LevelEnd, LevelStart};
use super::results::truncated;
use super::{Halt, Turn, prompt};
use crate::journal::Work;
use crate::memory::{Overlay, task_key};
use crate::model::ReplyFinish;
use crate::ports::ToolError;
use crate::protocol::Place;
use crate::toolbelt::OutputSchema;
use crate::tools::{self, finish_subtask, run_subtask};

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
    // Plans are the root's to make.
    let belt = belt.without(tools::makes_plans).replacing(finish_subtask::NAME, finish);
    let depth = parent.place.depth + 1;
    let start = LevelStart {
        path: LevelPath::child(key),
        place: Place { parent_id: Some(id.clone()), depth },
        model: Rc::clone(&turn.spec.chain_for(Work::Subtask).first.choice),
        system: prompt::subtask(depth, schema.is_some(), &turn.spec.limits),
        history: Vec::new(),
        instructions: arguments.instructions.into(),
        belt,
        schema,
        rules: None,
        partial: false,
        memory: parent.memory.fork(),
        digest: parent.digest().with(key),
    };
    let mut level = Level::new(start, turn.spec.limits);
    let end = drive(turn, &mut level).await?;
    *overlay = level.into_written();
    Ok(settled(turn, &id, end, overlay, &unknown))
}

/// What a level came to, as its caller gets it.
pub(super) fn settled(
    turn: &Turn,
    id: &str,
    end: LevelEnd,
    overlay: &mut Overlay,
    unknown: &[String],
) -> Result<String, ToolError> {
    let text_of = |text: String, overlay: &mut Overlay| {
        let text = truncated(text, turn.spec.limits.tool_result_bytes);
        let is_kept = keep(turn, id, &text, overlay);
        with_notes(text, is_kept, unknown)
    };
    let result = match end {
        LevelEnd::Text { text, finish } => Ok(text_of(with_end(text, finish), overlay)),
        LevelEnd::Partial(text) => Ok(text_of(text, overlay)),
        LevelEnd::Structured(payload) => {
            // JSON that satisfies a schema takes no note: what memory has no room for is not found there.
            keep(turn, id, &payload, overlay);
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
    result.map_err(|error| ToolError(error.to_string()))
}

/// Writes a result to memory, where there is room for it.
fn keep(turn: &Turn, id: &str, result: &str, overlay: &mut Overlay) -> bool {
    let mut own = Overlay::from([(task_key(id), result.to_owned())]);
    let has_room = turn.record.borrow().memory_has_room(&own);
    if has_room {
        overlay.append(&mut own);
    }
    has_room
}

/// A reply that did not come to its end by itself says so: the caller must not take it for the whole result.
fn with_end(text: String, finish: ReplyFinish) -> String {
    match finish {
        ReplyFinish::Stop | ReplyFinish::ToolCalls | ReplyFinish::Pause => text,
        ReplyFinish::Length => text + "\n\n[The model's reply was cut here, at its greatest length]",
        ReplyFinish::ContentFilter => text + "\n\n[The provider's content filter ended the reply here]",
    }
}

fn with_notes(mut text: String, is_kept: bool, unknown: &[String]) -> String {
    if !is_kept {
        text.push_str("\n\n[The memory of this turn is full: this result is not kept there]");
    }
    if !unknown.is_empty() {
        text.push_str("\n\n[These tools are not yours to give and were left out: ");
        text.push_str(&unknown.join(", "));
        text.push(']');
    }
    text
}
