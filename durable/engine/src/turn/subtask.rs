//! `run_subtask`: the loop, one level deeper, inside a call of its parent's round.

use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::json;

use super::composite::{Composite, Outcome, Running};
use super::drive::drive;
use super::frozen::Opening;
use super::keys::LevelPath;
use super::machine::{Level, LevelEnd};
use super::results::truncated;
use super::{Halt, Turn, prompt};
use crate::calls::{self, finish_subtask, run_subtask};
use crate::journal::{LevelSpec, Work};
use crate::memory::{Overlay, task_key};
use crate::ports::ToolError;
use wire::model::ReplyFinish;

/// `run_subtask`. A failure of its level is an error result for the parent, not the turn's end (N-177). The
/// memory writes of the level become the call's overlay, with its result under `task:ID`.
pub(super) struct Subtask;

impl Composite for Subtask {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let opened = turn.open(parent, key, LevelPath::child(key), || opening(turn, parent, arguments));
    let mut level = match opened {
        Ok(level) => level,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let end = drive(turn, &mut level).await?;
    let left_out = level.opening().map(|opening| opening.spec.left_out.clone()).unwrap_or_default();
    let mut overlay = level.into_written();
    let result = settled(turn, &turn.ids.tool_call(key), end, &mut overlay, &left_out);
    Ok(Outcome { overlay, ..Outcome::of(result) })
}

/// The opening of the level of a `run_subtask` call.
fn opening(turn: &Turn, parent: &Level, arguments: &str) -> Result<Opening, ToolError> {
    let arguments = run_subtask::arguments(arguments)?;
    let finish = arguments.output_schema.map(|schema| finish_subtask::spec(&Rc::new(schema)));
    let (belt, left_out) = match &arguments.tools {
        Some(names) => parent.belt.narrowed(names),
        None => (parent.belt.clone(), Vec::new()),
    };
    let limits = &turn.spec.limits;
    let spec = LevelSpec {
        system: prompt::subtask(parent.place.depth + 1, finish.is_some(), limits),
        instructions: arguments.instructions.into(),
        models: Work::Subtask.models(),
        toolset: None,
        own_tools: finish.into_iter().collect(),
        rules: None,
        reminder: prompt::MUST_FINISH.to_owned(),
        iterations: limits.iterations,
        partial: false,
        left_out,
    };
    // Only the root makes plans.
    let shared = belt.without(|name| calls::makes_plans(name) || name == finish_subtask::NAME);
    Ok(Opening { spec, shared })
}

/// The result of a level, as its caller gets it.
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
            // JSON that satisfies a schema takes no note: a result that memory has no room for is missing
            // there without a word.
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

/// Writes a result to memory, if it has room. Returns whether it had.
fn keep(turn: &Turn, id: &str, result: &str, overlay: &mut Overlay) -> bool {
    let mut own = Overlay::from([(task_key(id), result.to_owned())]);
    let has_room = turn.record.borrow().memory_has_room(&own);
    if has_room {
        overlay.append(&mut own);
    }
    has_room
}

/// Marks a reply that was cut short, so that the caller does not take it for the whole result.
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
