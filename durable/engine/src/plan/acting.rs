//! A call that acts on a plan: each new state of the plan is journaled under the call's key.

use crate::journal::{Commit, Fact};
use crate::turn::{Halt, Level, Turn};
use wire::protocol::{Event, Plan};

/// A call that acts on a plan: the level that made it, and its key.
#[derive(Clone, Copy)]
pub(super) struct Acting<'a> {
    pub(super) turn: &'a Turn,
    pub(super) parent: &'a Level,
    pub(super) key: &'a str,
}

impl Acting<'_> {
    /// Journals the new state of a plan, unless an earlier run did. Each event comes with the first part of its
    /// key.
    pub(super) fn note(self, plan: &mut Plan, events: Vec<(&str, Event)>) -> Result<(), Halt> {
        let Acting { turn, key, .. } = self;
        plan.revision += 1;
        if turn.replay.planned(key, plan.revision) {
            return Ok(());
        }
        let fact = Fact::Plan(Box::new(plan.clone()));
        let told = |mut event: Event| {
            if let Event::PlanCreated { plan: told, .. } | Event::PlanReadyForReview { plan: told } =
                &mut event
            {
                told.revision = plan.revision;
            }
            event
        };
        let events = events.into_iter().map(|(name, event)| (format!("{name}:{key}"), told(event))).collect();
        turn.commit(Commit { entries: vec![turn.entry(key, fact)], events, ..Commit::default() })
    }
}
