//! The work that a stop leaves undone, and the results within calls that it cuts off. Both come from the record alone:
//! a person reads them, and the model of a turn that goes on from here.

use super::Turn;
use super::results::truncated;
use crate::journal::ToolEnd;
use crate::own::Settled;
use crate::record::{PendingCall, Record};
use wire::protocol::{LeftUndone, PlanStatus, StepStatus, preview};

/// The most pieces of work that a note names: a plan has 12 steps at most, and nobody reads more.
pub const MAX_LEFT: usize = 20;
/// The longest name and title of such a piece, in characters: the note stands in the message's row (`storage::fit`).
pub const LEFT_CHARS: usize = 80;
/// The room for the words around a result within a call that was cut off, in bytes.
const AROUND_BYTES: usize = 1_000;
/// The fewest bytes of such a result that tell anything.
const LEAST_BYTES: usize = 100;

/// The work that a stop leaves undone.
pub(super) struct Left {
    /// For a person.
    pub(super) undone: Vec<LeftUndone>,
    /// For the model, which also gets the instructions of a plan's steps.
    words: Vec<String>,
}

impl Left {
    /// The work of a turn that is about to end. `last`: its record as it will be then.
    pub(super) fn of(turn: &Turn, last: &Record) -> Left {
        let mut left = Left { undone: Vec::new(), words: Vec::new() };
        let own = turn.facts();
        let mut begun_steps = Vec::new();
        for PendingCall { call, place, since_ms, .. } in &turn.record.borrow().pending {
            let step = own.find(&call.name).and_then(|own| own.settles);
            begun_steps.extend(step.and_then(|settles| settles(&call.arguments, &ToolEnd::default())));
            // A call within another one is part of that one, unless it contains levels itself.
            if place.depth == 0 || own.levels(&call.name) > 0 {
                let (name, title) = (short(&call.name), own.title(&call.name, &call.arguments));
                let title = title.as_deref().map(short);
                let words = title.as_ref().map_or_else(|| name.clone(), |title| format!("{name} {title:?}"));
                left.add(LeftUndone { name: Some(name), title, begun: since_ms.is_some() }, words);
            }
        }
        for plan in last.plans_at_end().into_iter().filter(|plan| plan.status == PlanStatus::Stopped) {
            for (index, step) in plan.steps.iter().enumerate() {
                let begun = Settled::Step { plan_id: plan.id.clone(), index };
                if step.status == StepStatus::Pending && !begun_steps.contains(&begun) {
                    let title = short(&step.title);
                    let words = format!("the plan's step {title:?}: {}", preview(&step.instructions));
                    left.add(LeftUndone { name: None, title: Some(title), begun: false }, words);
                }
            }
        }
        left
    }

    fn add(&mut self, undone: LeftUndone, words: String) {
        if self.undone.len() < MAX_LEFT {
            self.undone.push(undone);
            self.words.push(words);
        }
    }

    /// The last words of a turn that a limit ended, for the model that goes on from them.
    pub(super) fn in_words(&self) -> String {
        let left = match self.words.is_empty() {
            true => "the answer".to_owned(),
            false => self.words.join("; "),
        };
        format!("\n[Left to do: {left}. The results above stand: do not make their calls again.]")
    }
}

fn short(text: &str) -> String {
    text.chars().take(LEFT_CHARS).collect()
}

/// The result of an open call that a stop cuts off.
pub(super) fn cut_off(turn: &Turn, pending: &PendingCall, why: &str) -> String {
    match pending.since_ms {
        None => not_made(why),
        Some(_) if turn.facts().levels(&pending.call.name) == 0 => {
            format!("The call was stopped and its result is unknown; it may have run. {why}")
        }
        Some(_) => {
            let had = had(turn, &pending.key);
            format!("The call was stopped before it had its result. {why}{had}")
        }
    }
}

/// The result of a call that a stop kept from starting.
pub(super) fn not_made(why: &str) -> String {
    format!("The call was not made. {why}")
}

/// The texts and results that the levels of an open call have so far. All of them get the same room.
fn had(turn: &Turn, key: &str) -> String {
    let record = turn.record.borrow();
    let found: Vec<_> = record.within(key).collect();
    if found.is_empty() {
        return String::new();
    }
    let room = turn.spec.limits.tool_result_bytes.saturating_sub(AROUND_BYTES) / found.len();
    let each =
        |(name, text): (String, String)| format!("\n\n{name}:\n{}", truncated(text, room.max(LEAST_BYTES)));
    "\nIt had this so far, which stands:".to_owned() + &found.into_iter().map(each).collect::<String>()
}
