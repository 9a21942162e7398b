//! `finish_subtask`: the call that ends a subtask with an `output_schema`. Its declaration takes its input
//! schema from there, and the loop validates the model's arguments against it.

use std::rc::Rc;

use serde_json::json;

use super::{Carrier, OwnCall};
use crate::toolbelt::declare;
use crate::toolbelt::{PermissionClass, ToolSpec};
use wire::model::RawValueEq;

pub const NAME: &str = "finish_subtask";

/// Its facts.
pub(super) const CALL: OwnCall = OwnCall::plain(NAME, Carrier::Finish);

/// The declaration for one subtask: its input schema is the schema that the caller asked for (N-068).
pub fn spec(output_schema: &Rc<RawValueEq>) -> ToolSpec {
    let mut spec = declare(
        NAME,
        PermissionClass::Subagent,
        "Ends this subtask with its result. The arguments are the result, and must satisfy the schema.",
        json!({}),
    );
    spec.input_schema = Rc::clone(output_schema);
    spec.timeout_ms = None;
    spec
}
