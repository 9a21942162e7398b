//! The words in which clients hear of a plan.

use crate::turn::Turn;

/// The words of a plan's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// A model made the plan.
    Plan,
    /// The service made the plan in the root's place, for a request that names a mode. Its steps run one
    /// after the other.
    Swarm,
}

impl Voice {
    /// The voice of a turn's plans. In a turn with a mode no model is offered the calls that make plans
    /// (`ContextProfile::in_mode`), so the service makes each plan there.
    pub(super) fn of(turn: &Turn) -> Voice {
        match turn.spec.setting.mode {
            None => Voice::Plan,
            Some(_) => Voice::Swarm,
        }
    }
}
