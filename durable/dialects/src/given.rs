//! Parts of requests that several dialects have.

use serde_json::{Map, Value};

use crate::names;

/// The most answers of a request, the newest ones. A turn has fewer calls in all.
pub const MAX_ANSWERS: usize = 512;
/// The most bytes of one result. The service cuts the results of tools far below that.
const MAX_RESULT: usize = 1 << 20;
/// The model that stands for the deployment's own choice.
pub const DEFAULT_MODEL: &str = "espalier";

/// A part of a message, of any type. Plain JSON: a type with so many members would be as much code as all the rest.
pub type Part = Map<String, Value>;

/// A member that is a text.
pub fn text<'a>(part: &'a Part, name: &str) -> Option<&'a str> {
    part.get(name).and_then(Value::as_str)
}

/// The result of a client's tool, if it is not too long.
pub fn bounded(content: String) -> Result<String, String> {
    match content.len() > MAX_RESULT {
        true => Err(format!("a tool's output has at most {MAX_RESULT} bytes")),
        false => Ok(content),
    }
}

/// Our name for a client's tool.
pub fn named(name: &str) -> Result<String, &'static str> {
    let ours = Some(name).filter(|name| !name.is_empty()).and_then(names::ours);
    ours.ok_or("a name has letters, digits and signs of ASCII")
}

/// A member; null where there is none.
pub fn at<'a>(json: &'a Value, name: &str) -> &'a Value {
    json.get(name).unwrap_or(&Value::Null)
}

/// An object of these members. `json!` would be several times the code.
pub fn of_members(members: Vec<(&str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// An object as JSON is written, of anything that is a `Value`.
#[macro_export]
macro_rules! object {
    ($($name:tt: $value:expr),* $(,)?) => {
        $crate::of_members(vec![$(($name, serde_json::Value::from($value))),*])
    };
}
pub(crate) use object;

/// The object with members of another one.
pub fn with(mut json: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (json.as_object_mut(), more) {
        members.extend(more);
    }
    json
}
