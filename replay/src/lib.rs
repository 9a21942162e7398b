//! Replays the record of a turn. The same engine runs the turn once more, offline: the record answers in the place of
//! models, tools, people and clients. Then the entries that the engine journals now are compared with those of the
//! record, and so is the turn's end. A step's digest is made of all that led to the step, so the first difference tells
//! the step at which the turn would go another way.
//!
//! - `record`: reads a record. `script`: the recorded outcomes, and which of them are due. `ports`: the engine's ports over them.
//! - `agents`: the transcripts and templates that the turn read. `player`: runs the turn. `compare`: finds the first difference.
//!
//! Prompts, tools, limits and models come from the record, never from the code. So a replay tests the engine, and not the
//! wording of a prompt.

mod agents;
mod compare;
mod player;
mod ports;
mod record;
mod script;
#[cfg(test)]
mod tests;

pub use compare::Difference;
pub use player::{Replayed, replay};
pub use record::{End, Header, Record};

use std::fmt;

/// The reason why a record cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplayable(pub String);

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
