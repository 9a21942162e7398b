//! `complete_step`: the call by which the model ends the step at which the session stands.
//!
//! The call has no token: the thread's storage makes and checks it, so no prompt, result or event can leak it, and a model
//! cannot spell it wrongly (W-082). Without notes of some length no step ends.

use super::ended::{Written, advanced, ended};
use super::prompt;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::toolbelt::ToolSpec;
use crate::toolbelt::arguments::{self, refused};
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};

pub const NAME: &str = "complete_step";

pub(crate) const CALL: Own =
    Own { facts: OwnCall { root_only: true, ..OwnCall::plain(NAME) }, carrier: Carrier::AtOnce(carry_out) };

/// The declaration.
pub fn spec() -> ToolSpec {
    super::declared(NAME)
}

fn carry_out(turn: &Turn, level: &Level, arguments: &str) -> Outcome {
    let session = turn.record.borrow().session.clone();
    let (Some(session), Some(staged)) = (session, level.staged()) else {
        return Outcome::of(Err(ToolError("no procedure runs here".to_owned())));
    };
    let step = session.step;
    let end = match arguments::read::<Written>(&spec(), arguments) {
        Ok(written) => ended(&session, written),
        Err(refusal) => return Outcome::of(Err(refusal)),
    };
    match end {
        // A step that began with this very reply has shown nothing of itself yet.
        Ok(_) if staged.session.step != step => Outcome::of(Err(ToolError(prompt::NOT_BEGUN.to_owned()))),
        Ok(_) if session.current().is_some_and(|step| step.verifier.is_some()) => {
            Outcome::of(Ok(prompt::PROPOSED.to_owned()))
        }
        Ok(end) => {
            let change = advanced(&session, end);
            let told = prompt::ended(&session);
            Outcome { session: Some(Box::new(change)), ..Outcome::of(Ok(told)) }
        }
        Err((at, rule)) => Outcome::of(Err(refused(&spec(), at, &rule))),
    }
}

/// The end of a step that a call proposes; none where its arguments are not those of one.
pub(super) fn written(arguments: &str) -> Option<Written> {
    arguments::read(&spec(), arguments).ok()
}
