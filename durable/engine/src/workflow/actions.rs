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
    let spec = LevelSpec {
        system: String::new(),
        instructions: String::new().into(),
        models: None,
        toolset: None,
        own_tools: Vec::new(),
        rules: None,
        reminder: String::new(),
        iterations: turn.spec.limits.iterations,
        partial: false,
        left_out: Vec::new(),
        covers: None,
        agent: None,
        hooks: Vec::new(),
    };
    let opening = Opening { spec, shared: belt };
    turn.open_unasked(parent, key, LevelPath::actions(key), opening)
}
