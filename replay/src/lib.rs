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
//!
//! `replay/` reads records on the host, with a reader of its own. It runs `Turn::rebuild` from entry 0 and the
//! openings alone, and its ports give the recorded outcomes in the record's order: whenever nothing in the turn can go
//! on by itself, the first entry that is missing happens. Where the record has a resumption, the replay loses its run
//! too, with all that the recorded run had not written, and resumes. Then it compares entries. Times do not count, and
//! the clock follows the record.

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
