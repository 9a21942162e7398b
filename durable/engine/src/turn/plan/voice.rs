//! The words in which clients hear of a plan.

use super::super::Turn;

/// The words of a plan's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::turn) enum Voice {
    /// A model made the plan.
    Plan,
    /// The service made the plan in the root's place, for a request that names a mode. Its steps run one
    /// after the other.
    Swarm,
}

impl Turn {
    /// The voice of the turn's plans. In a turn with a mode no model is offered the calls that make plans
    /// (`ContextProfile::in_mode`), so the service makes each plan there.
    pub(in crate::turn) fn voice(&self) -> Voice {
        match self.spec.setting.mode {
            None => Voice::Plan,
            Some(_) => Voice::Swarm,
        }
    }
}
