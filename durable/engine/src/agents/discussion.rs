//! Agents that answer one after the other, each as a call of its own.

use super::reply;
use crate::journal::{LevelSpec, People, ToolEnd};
use crate::memory::Overlay;
use crate::record::frozen::Opening;
use crate::turn::composite::Running;
use crate::turn::{Halt, Level, Turn, make_calls};

/// The answers of agents, in their order.
pub(super) struct Said {
    pub(super) answers: Vec<(String, ToolEnd)>,
    /// The memory writes of their levels.
    pub(super) overlay: Overlay,
}

/// Asks the speakers in their order. Everybody else among the people hears each answer before the next one speaks.
pub(super) async fn ask(call: &Running<'_>, people: &People) -> Result<Said, Halt> {
    let mut level = opened(call.turn, call.parent, call.key);
    let mut answers = Vec::with_capacity(people.speakers.len());
    for name in &people.speakers {
        let others = people.all().filter(|other| *other != name).cloned().collect();
        let ends = make_calls(call.turn, &mut level, vec![reply::call(name, others)]).await?;
        answers.extend(ends.into_iter().map(|end| (name.clone(), end)));
    }
    Ok(Said { answers, overlay: level.into_written() })
}

/// The level in which they answer. It asks no model.
fn opened(turn: &Turn, parent: &Level, key: &str) -> Level {
    let spec =
        LevelSpec { own_tools: vec![reply::spec()], ..LevelSpec::unasked(turn.spec.limits.iterations) };
    let shared = parent.belt.without(|name| turn.facts().root_only(name));
    turn.open_discussion(parent, key, Opening { spec, shared })
}
