//! The loop of a turn, driven through ports and rebuilt from its journal. No file here knows SSE, SQL or the
//! platform, or a call of the engine beyond its facts.
//!
//! - `run`: the life of a turn, from entry 0 to its end. `writing`: its clock, its commits, its checks.
//! - `gathered`: the commits of one poll, written as one.
//! - `level`: one level as a pure state machine, which decides each next step. `open`: opens child levels.
//! - `cutting`: decides before a model call whether the level leaves messages out, or finds the decision in the journal.
//! - `drive`: takes a level to its end, and awaits its model calls. `announcing`: their text, at once.
//! - `round`: runs the calls of one reply. `called`: the calls that the service makes in a model's place. `direct`: a turn
//!   that is one such call.
//! - `reading`: reads content from outside that a call of the engine needs, by a call of its own.
//! - `hooking`: asks the hooks of a level, before its model calls, before its calls and about its answer.
//! - `answering`: has hooks judge the drafted answer of a level before readers get it.
//! - `summary`: levels that summarise the turns before this one.
//! - `agents`: the thread's agents in the journal, and the one that the user talks to.
//! - `composite`: the engine's own calls, as the loop knows them.
//! - `reserve`: asks the budget. `results`: a call's start and end in words.
//! - `parking`: calls that wait for an answer from outside. `asking`: the question at a limit. `form`: the bounds of the
//!   forms that tools ask a person to fill in.
//! - `closing`: ends open calls. `left`: the work that this leaves undone. `ending`: ends the turn.
//!
//! `turn/level.rs` is a level as a pure state machine: `next()` says what the level wants (`CallModel`, `CallTools`,
//! `Finish`), `apply_*` takes the outcome. It never awaits, reads no clock and draws no random numbers.
//! `turn/drive.rs` drives a level: it asks for a step, takes the outcome from the journal or else from a port, commits
//! it and applies it. `Turn::run` writes the commits of one poll as one (`turn/gathered.rs`).

mod agents;
mod announcing;
mod answering;
#[cfg(any(test, feature = "testing"))]
mod asker;
mod asking;
mod called;
mod closing;
pub(crate) mod composite;
mod cutting;
mod direct;
mod drive;
#[cfg(any(test, feature = "faults"))]
mod edition;
mod ending;
mod form;
mod gathered;
pub(crate) mod hooking;
mod left;
mod level;
mod life;
mod open;
mod parking;
mod reading;
mod reserve;
mod results;
mod round;
mod run;
mod summary;
#[cfg(test)]
pub(crate) mod tests;
mod writing;

use crate::ports::LogError;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::asker::asker;
pub(crate) use self::called::{make_call, make_calls, make_calls_of};
pub(crate) use self::drive::drive;
#[cfg(any(test, feature = "faults"))]
pub use self::edition::edit_prompts;
pub(crate) use self::ending::partial_text;
pub use self::form::form_fault;
pub use self::left::{LEFT_CHARS, MAX_LEFT};
pub use self::level::request_tokens;
pub use self::level::{Level, LevelEnd, Step};
pub(crate) use self::level::{Staged, fits};
pub use self::parking::{Asked, Receipt};
pub(crate) use self::reading::{Source, read, read_whole, write};
pub use self::reserve::most_spending;
pub(crate) use self::results::truncated;
pub use self::run::{Ran, Turn};

/// The reason why a level does not go on. `ending` then ends the turn; the level does not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Halt {
    /// The turn was stopped; the reason stands in its record.
    Stopped,
    /// The log takes no more writes.
    Log(LogError),
}

impl From<LogError> for Halt {
    fn from(error: LogError) -> Self {
        Halt::Log(error)
    }
}
