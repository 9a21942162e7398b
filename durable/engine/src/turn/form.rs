//! The forms that tools ask a person to fill in: their bounds, and what an answer must be.

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::journal::Asking;
use crate::toolbelt::OutputSchema;
use wire::model::RawValueEq;
use wire::protocol::{Form, MAX_QUESTION_CHARS, MAX_QUESTION_ID, MAX_QUESTION_SCHEMA, MAX_QUESTIONS};

/// The longest state of a tool, in bytes: it stands in a row of the journal.
const MAX_STATE: usize = 64 * 1024;

/// Why nobody could answer a question of a tool; none where it can be asked.
pub(super) fn problem(asking: &Asking) -> Option<String> {
    let questions = &asking.form.questions;
    if questions.is_empty() || questions.len() > MAX_QUESTIONS {
        return Some(format!("a form has 1 to {MAX_QUESTIONS} questions"));
    }
    if asking.state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
        return Some(format!("its state has more than {MAX_STATE} bytes"));
    }
    questions.iter().find_map(|question| {
        if question.id.len() > MAX_QUESTION_ID || question.message.chars().count() > MAX_QUESTION_CHARS {
            return Some(format!("a question has at most {MAX_QUESTION_CHARS} characters"));
        }
        match schema(&question.schema) {
            Ok((bytes, _)) if bytes <= MAX_QUESTION_SCHEMA => None,
            Ok(_) => Some(format!("a schema has at most {MAX_QUESTION_SCHEMA} bytes")),
            Err(problem) => Some(problem),
        }
    })
}

/// The fault of an answer to a form: the path of the member, and the reason. `content` is a JSON object.
pub fn form_fault(form: &Form, content: &str) -> Option<(String, String)> {
    let Ok(content) = wire::json::from_str::<Map<String, Value>>(content) else {
        return Some(("content".to_owned(), "expected an object".to_owned()));
    };
    let known = |id: &String| form.questions.iter().any(|question| question.id == *id);
    if let Some(id) = content.keys().find(|id| !known(id)) {
        return Some((format!("content.{id}"), "the form has no such question".to_owned()));
    }
    form.questions.iter().find_map(|question| {
        let answer = content.get(&question.id).map_or_else(|| "{}".to_owned(), ToString::to_string);
        let checked = schema(&question.schema).and_then(|(_, schema)| schema.check(&answer));
        checked.err().map(|problem| (format!("content.{}", question.id), problem))
    })
}

fn schema(schema: &Map<String, Value>) -> Result<(usize, OutputSchema), String> {
    let raw = serde_json::value::to_raw_value(schema).map_err(|error| error.to_string())?;
    let bytes = raw.get().len();
    Ok((bytes, OutputSchema::compile(Rc::new(RawValueEq(raw)))?))
}
