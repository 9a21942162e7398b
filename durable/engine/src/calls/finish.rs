//! `finish_subtask`: the call that ends a subtask with an `output_schema`. Its declaration takes its input
//! schema from there, and the arguments must satisfy it.

use std::rc::Rc;

use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::toolbelt::ToolSpec;
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};
use wire::model::RawValueEq;

pub const NAME: &str = "finish_subtask";

pub(crate) const CALL: Own =
    Own { facts: OwnCall { ends_level: true, ..OwnCall::plain(NAME) }, carrier: Carrier::AtOnce(carry_out) };

/// The last paragraph of the prompt of a level that ends with this call.
pub(crate) const GUIDANCE: &str = "\nYou must end by calling finish_subtask: its arguments are your result and must satisfy its schema. Text \
     alone does not end this subtask.";

/// The message to a model that answered in prose there.
pub(crate) const REMINDER: &str =
    "This subtask ends only with a call of finish_subtask. Call it now, with your result as its arguments.";

/// The declaration for one subtask: its input schema is the schema that the caller asked for (N-068).
pub(crate) fn spec(output_schema: &Rc<RawValueEq>) -> ToolSpec {
    ToolSpec { input_schema: Rc::clone(output_schema), ..super::declared(NAME) }
}

pub(super) fn carry_out(turn: &Turn, level: &Level, payload: &str) -> Outcome {
    Outcome::of(accept(turn, level, payload))
}

/// Accepts a payload as the caller's result, uncut: one that would have to be cut is refused like one that
/// misses its schema.
fn accept(turn: &Turn, level: &Level, payload: &str) -> Result<String, ToolError> {
    let (bytes, limit) = (payload.len(), turn.spec.limits.tool_result_bytes);
    if bytes > limit {
        return Err(ToolError(format!("the result has {bytes} bytes, the limit is {limit}: shorten it")));
    }
    let checked = level.checked(payload).unwrap_or_else(|| Err(level.belt.refusal(NAME)));
    checked.map(|()| "accepted".to_owned()).map_err(ToolError)
}
