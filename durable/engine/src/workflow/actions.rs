//! Calls that the service makes for a step, in a level that asks no model: they go through the loop's round like any call,
//! so the same guards, budget, journal and replay hold for them.

use crate::journal::{LevelSpec, ToolEnd};
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::toolbelt::{ToolSpec, Toolbelt};
use crate::turn::{Halt, Level, Turn, make_call};
use serde_json::Value;

/// Makes a call in the root's place, of which the root's model sees nothing.
pub(super) async fn beside(
    turn: &Turn,
    level: &mut Level,
    spec: ToolSpec,
    arguments: &Value,
) -> Result<ToolEnd, Halt> {
    let length = level.length();
    let end = make_call(turn, level, spec, arguments).await?;
    level.forget_round(length);
    Ok(end)
}

/// The level of the calls of a step, in the call `key`.
pub(super) fn level(turn: &Turn, parent: &Level, key: &str, belt: Toolbelt) -> Level {
    let spec = LevelSpec::unasked(turn.spec.limits.iterations);
    let opening = Opening { spec, shared: belt };
    turn.open_unasked(parent, key, LevelPath::actions(key), opening)
}
