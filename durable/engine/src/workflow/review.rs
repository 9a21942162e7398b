//! `review_step`: a person decides whether the work of a step passes, or whether its plan may run. Only the service makes
//! the call. It waits like any call that a person must allow, and the same route answers it: allowed means pass, denied
//! means once more.

use serde_json::{Value, json};

use super::actions::beside;
use crate::journal::StepEnd;
use crate::own::OwnCall;
use crate::record::keys::call_key;
use crate::toolbelt::ToolSpec;
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Halt, Level, Turn};
use wire::protocol::{Decision, WorkflowStep};

const NAME: &str = "review_step";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { asks_each_time: true, ..OwnCall::plain(NAME) },
    carrier: Carrier::AtOnce(|_, _, _| Outcome::of(Ok("A person let it pass.".to_owned()))),
};

/// A person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    Allowed,
    Denied,
    /// The time to answer was over, or the question could not be put to a person: a hook blocked it, or it was too long.
    Unanswered,
}

/// The question whether the work of a step passes.
pub(super) fn of_work(step: &WorkflowStep, proposed: Option<&StepEnd>, reason: &str) -> Value {
    let notes = proposed.map(|ended| ended.notes.notes.as_str());
    json!({"step": step.id, "title": step.title, "notes": notes, "reason": reason})
}

/// The question whether the plan of a step may run.
pub(super) fn of_plan(step: &WorkflowStep, plan: &Value) -> Value {
    json!({"step": step.id, "title": step.title, "plan": plan})
}

/// Asks a person, beside the model.
pub(super) async fn ask(turn: &Turn, level: &mut Level, question: Value) -> Result<Decided, Halt> {
    let key = call_key(&level.wave_key(), 0);
    let end = beside(turn, level, spec(), &question).await?;
    Ok(match turn.record.borrow().decision(&key) {
        Some(Decision::Deny) => Decided::Denied,
        _ if end.is_error => Decided::Unanswered,
        _ => Decided::Allowed,
    })
}

/// The declaration, for the service alone.
fn spec() -> ToolSpec {
    super::declared(NAME)
}
