//! `todo_reminder`: shows the model its list of things to do when it has not touched it for a while.

use super::{Builtin, Choice, Kind, TODO_WRITE, count, kept, state};
use crate::journal::todo_key;
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use crate::turn::truncated;
use wire::protocol::{HookDecision, HookPoint};

/// Reminds at each `every`th round without a `todo_write`.
pub(super) const HOOK: Builtin = Builtin {
    name: "todo_reminder",
    points: &[HookPoint::Result],
    calls: &[],
    options: &[Choice { name: "every", kind: Kind::Count }],
    judge: Judge::Rule(&TodoReminder),
};

const EVERY: u32 = 10;
/// The most bytes of the list that the model reads.
const LIST_BYTES: usize = 1_500;

/// The state counts the rounds since the list was written or shown.
struct TodoReminder;

impl Rule for TodoReminder {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        // Subtasks and steps have no list.
        if asked.level.belt.find(TODO_WRITE).is_none() {
            return Ok(Said::default());
        }
        let rounds: u32 = state(asked)?;
        let round = asked.level.newest_round();
        if round.iter().any(|(call, _, is_error)| call.name == TODO_WRITE && !is_error) {
            return Ok(Said { state: kept(&0), ..Said::default() });
        }
        let every = count(asked.hook, "every", EVERY);
        if rounds + 1 < every {
            return Ok(Said { state: kept(&(rounds + 1)), ..Said::default() });
        }
        let key = todo_key(asked.turn.maker(asked.level));
        let list = asked.level.memory.read(&key).map(|list| truncated(list.to_owned(), LIST_BYTES));
        let list = list.map_or_else(
            || format!("There is no list of things to do. If this is work of several steps, write one with {TODO_WRITE}."),
            |list| format!("The list of things to do was not touched for {every} rounds. Update it with {TODO_WRITE} if it is old:\n{list}"),
        );
        Ok(Said { state: kept(&0), ..Said::new(HookDecision::Comment, list) })
    }
}
