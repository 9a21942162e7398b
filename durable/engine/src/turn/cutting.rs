//! The cut before a model call. A level decides it once, and the journal has it with the start of the call. So a run that
//! takes the turn up sends the same messages, without an estimate of its own.

use super::Turn;
use super::level::Level;
use crate::journal::Cut;
use wire::model::ModelRequest;

impl Turn {
    /// Makes the cut that a level needs before its next model call.
    pub(super) fn cut(&self, level: &mut Level) {
        if let Some(cut) = self.next_cut(level) {
            level.apply_cut(cut);
        }
    }

    /// The request of the next model call of a level, with the cut that it needs.
    pub(super) fn request_after_cut(&self, level: &Level) -> ModelRequest {
        self.next_cut(level).map_or_else(|| level.request(), |cut| level.request_after(&cut))
    }

    fn next_cut(&self, level: &Level) -> Option<Cut> {
        let at = level.step_key();
        match self.replay.cut(&at) {
            // Code that reads another history than the code before it decides anew.
            Some(cut) if cut.messages == level.length() => Some(cut.clone()),
            None if self.replay.attempts(&at) > 0 => None,
            Some(_) | None => {
                let first = &self.spec.chain_of(level.models()).first;
                let thresholds = first.price.iter().flat_map(|price| price.thresholds());
                level.due_cut(&thresholds.collect::<Vec<_>>())
            }
        }
    }
}
