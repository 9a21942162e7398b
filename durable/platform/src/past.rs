//! The conversation before a turn: its turns as far as a model may see them, and the summary of older ones.
//!
//! Mostly all of it fits into a request, and one look at the messages reads it. A longer conversation is read from both
//! ends: its newest turns, and the oldest ones that no summary covers. So memory is bounded, and the first turns of a
//! thread are summarised first.

use engine::journal::{History, Past, TurnSpec};
use engine::profiles::Limits;
use engine::turn::Turn;

use crate::storage::StoreError;
use crate::storage::path::Path;
use crate::storage::summaries::Turns;

use super::thread::Thread;

/// Bytes of stored history that are read for each token that a model may see of it: more than any tokenizer packs
/// into one, so that the token limit cuts and not this.
const BYTES_PER_TOKEN: usize = 8;

impl Thread {
    /// The history of a turn that begins on a path. Sets the summary that the turn begins with, and the last request before
    /// it.
    pub fn history(&self, path: &Path, spec: &mut TurnSpec) -> Result<History, StoreError> {
        let history = self.history_and_summary(path, spec)?;
        if spec.limits.turn_cost_microusd.is_some()
            && spec.summary.is_none()
            && let Some(last) = history.turns.last()
        {
            spec.last_request = self.store.last_request(last.id.row)?;
        }
        Ok(history)
    }

    fn history_and_summary(&self, path: &Path, spec: &mut TurnSpec) -> Result<History, StoreError> {
        let newest = self.newest(path, spec)?;
        if is_enough(spec, &newest) {
            return Ok(whole(newest));
        }
        spec.summary = self.store.summary(path, spec.history_until)?;
        self.both_ends(path, spec, newest)
    }

    /// The history of a turn that has begun, as it was then: rows are append-only, the path before a turn never changes, and
    /// the turn's entry 0 has its summary.
    pub fn frozen_history(&self, path: &Path, spec: &TurnSpec) -> Result<History, StoreError> {
        let newest = self.newest(path, spec)?;
        match spec.summary.is_none() && is_enough(spec, &newest) {
            true => Ok(whole(newest)),
            false => self.both_ends(path, spec, newest),
        }
    }

    fn newest(&self, path: &Path, spec: &TurnSpec) -> Result<Turns, StoreError> {
        self.store.history(path, spec.history_until, history_bytes(&spec.limits))
    }

    fn both_ends(&self, path: &Path, spec: &TurnSpec, newest: Turns) -> Result<History, StoreError> {
        let covered = spec.summary.as_ref().map_or(0, |summary| summary.covers.row);
        let first = newest.turns.first().map_or(0, |past| past.id.row);
        let after = |past: &Past| past.id.row > covered;
        if newest.is_whole || covered >= first {
            let turns = newest.turns.into_iter().filter(after).collect();
            return Ok(History { turns, before_gap: 0 });
        }
        let oldest = self.store.oldest_turns(path, (covered, first), history_bytes(&spec.limits))?;
        let before_gap = if oldest.is_whole { 0 } else { oldest.turns.len() };
        Ok(History { turns: oldest.turns.into_iter().chain(newest.turns).collect(), before_gap })
    }
}

fn whole(newest: Turns) -> History {
    History { turns: newest.turns, before_gap: 0 }
}

/// Whether the turn needs no summary: it makes none, or the whole conversation fits into its requests.
fn is_enough(spec: &TurnSpec, newest: &Turns) -> bool {
    spec.setting.summaries.is_none() || (newest.is_whole && Turn::fits(spec, &newest.turns))
}

/// How much of a thread's stored history is worth reading.
fn history_bytes(limits: &Limits) -> usize {
    usize::try_from(limits.history_tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN)
}
