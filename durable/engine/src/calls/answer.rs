//! `give_answer`: the call that ends a turn whose request wants JSON. Its declaration takes its input schema from the
//! request, and the arguments, which must satisfy it, are the answer. A request may also want a call of one of its client's
//! tools before the answer.
//!
//! Both are a shape of the root's result ([`AnswerShape`]), which entry 0 freezes. Prose that misses it is no answer: the model
//! is reminded, and has as many repeats as a subtask with an `output_schema`. Then the turn ends with `shape_missed`.

use std::rc::Rc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::finish;
use crate::journal::AnswerShape;
use crate::own::OwnCall;
use crate::toolbelt::{OutputSchema, ToolSpec, foreign};
use crate::turn::composite::{Carrier, Own};
use wire::model::RawValueEq;
use wire::protocol::{ApiError, ChatRequest};

pub const NAME: &str = "give_answer";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { ends_level: true, root_only: true, ..OwnCall::plain(NAME) },
    carrier: Carrier::AtOnce(finish::carry_out),
};

/// Checks the shape that a request wants. The error names the member.
pub fn check(request: &ChatRequest) -> Result<(), ApiError> {
    if let Some(schema) = &request.response_schema {
        let compiled = declaration(schema).and_then(|tool| OutputSchema::compile(tool.input_schema));
        compiled.map_err(|problem| ApiError::field("response_schema", problem))?;
    }
    let tools = request.client_tools.as_deref().unwrap_or_default();
    for (index, name) in request.must_call.iter().flatten().enumerate() {
        if !tools.iter().any(|tool| tool.name == *name) {
            let detail = "the request brings no tool of this name";
            return Err(ApiError::field(format!("must_call[{index}]"), detail));
        }
    }
    Ok(())
}

/// The shape that a request wants; none for a text without conditions. `check` has taken the schema before.
pub fn shape(schema: Option<&RawValueEq>, must_call: Option<&[String]>) -> Option<AnswerShape> {
    let calls = must_call.unwrap_or_default().to_vec();
    let answer = schema.and_then(|schema| declaration(schema).ok());
    let reminder = match (&answer, calls.is_empty()) {
        (None, true) => return None,
        (None, false) => format!("Answer only after a call of {}. Make the call now.", calls.join(" or ")),
        (Some(_), true) => REMINDER.to_owned(),
        (Some(_), false) => format!("Your next call must be one of {}. {REMINDER}", calls.join(" or ")),
    };
    Some(AnswerShape { answer, calls, reminder })
}

/// The message to a model that answered in prose.
const REMINDER: &str =
    "Your answer only counts as a call of give_answer. Call it, with your whole answer as its arguments.";

/// The last paragraph of the prompt of a root whose answer has a shape.
pub(crate) fn guidance(shape: &AnswerShape) -> String {
    let mut told = String::new();
    if !shape.calls.is_empty() {
        told.push_str("\nThe client wants you to call one of these tools before you answer: ");
        told.push_str(&shape.calls.join(", "));
        told.push('.');
    }
    if shape.answer.is_some() {
        told.push_str(
            "\nYou must end by calling give_answer: its arguments are your whole answer and must satisfy its schema. The user \
             reads nothing else of what you write.",
        );
    }
    told
}

/// The declaration for one request. Models write an answer in the order of the schema's members, so a schema that needs no
/// other form keeps that order.
fn declaration(schema: &RawValueEq) -> Result<ToolSpec, String> {
    let given: Map<String, Value> =
        wire::json::from_str(schema.0.get()).map_err(|_| "expected an object: a JSON Schema".to_owned())?;
    let normal = foreign::normalised(&given)?;
    let plain = foreign::without_annotations(schema).map_err(|error| error.to_string())?;
    let is_normal = wire::json::from_str::<Value>(plain.0.get()).is_ok_and(|plain| plain == normal);
    let schema = match is_normal {
        true => plain,
        false => RawValueEq(to_raw_value(&normal).map_err(|error| error.to_string())?),
    };
    Ok(ToolSpec { input_schema: Rc::new(schema), ..super::declared(NAME) })
}
