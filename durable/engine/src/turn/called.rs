//! Calls that the service makes in a model's place: the steps of a plan, the first calls of a mode.

use std::mem;
use std::rc::Rc;

use futures::FutureExt;

use super::level::Level;
use super::round::round;
use super::{Halt, Turn};
use crate::journal::{Commit, Fact, ToolEnd};
use crate::toolbelt::ToolSpec;
use wire::model::ToolCall;

/// Makes one call, of a tool that the level need not have.
pub(crate) async fn make_call(
    turn: &Turn,
    level: &mut Level,
    spec: ToolSpec,
    arguments: &serde_json::Value,
) -> Result<ToolEnd, Halt> {
    let call = ToolCall {
        call_id: format!("opening_{}", level.wave_key()),
        name: spec.name.clone(),
        arguments: arguments.to_string(),
    };
    let mut ends = make_calls_of(turn, level, spec, vec![call]).await?;
    ends.pop().ok_or(Halt::Stopped)
}

/// Makes calls of one tool, which the level need not have, in one round.
pub(crate) async fn make_calls_of(
    turn: &Turn,
    level: &mut Level,
    spec: ToolSpec,
    calls: Vec<ToolCall>,
) -> Result<Vec<ToolEnd>, Halt> {
    let with = level.belt.replacing(&spec.name.clone(), Some(spec));
    let own = mem::replace(&mut level.belt, with);
    let ends = make_calls(turn, level, calls).await?;
    level.belt = own;
    Ok(ends)
}

/// Makes the calls of one round and applies their results.
pub(crate) async fn make_calls(
    turn: &Turn,
    level: &mut Level,
    calls: Vec<ToolCall>,
) -> Result<Vec<ToolEnd>, Halt> {
    let calls = called(turn, level, calls)?;
    let ends = round(turn, level, &calls).boxed_local().await?;
    level.apply_tools(&ends);
    Ok(ends)
}

/// Journals calls. Where an earlier run journaled such calls, those
/// are taken instead.
fn called(turn: &Turn, level: &mut Level, calls: Vec<ToolCall>) -> Result<Rc<[ToolCall]>, Halt> {
    let at = level.wave_key();
    let journaled = turn.replay.called(&at).cloned();
    let is_new = journaled.is_none();
    let calls = journaled.unwrap_or(calls);
    if is_new {
        let fact = Fact::Called { place: level.place.clone(), calls: calls.clone() };
        turn.commit(Commit { entries: vec![turn.entry(&at, fact)], ..Commit::default() })?;
    }
    // A stopped turn returns above: a call that was not journaled was never made.
    level.call(&calls);
    Ok(calls.into())
}
