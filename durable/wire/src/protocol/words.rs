//! Describes errors in a body in the terms of JSON. Serde's own messages name Rust types.

use serde::de::Error;
use serde_json::error::Category;

use super::{ApiError, ErrorCode};

/// An error about a member of the current object, for types that implement `Deserialize` by hand.
pub(super) fn wrong_member<E: Error>(name: &str, rule: &str) -> E {
    E::custom(format!("member `{name}` {rule}"))
}

/// The refusal of a JSON body of the wrong shape. `path` is the path of the error, `.` for the body.
pub(super) fn refusal(path: &str, error: &serde_json::Error) -> ApiError {
    let told = error.to_string();
    // serde_json appends the position in the text.
    let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
    let below = |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
    let named = |prefix: &str| told.strip_prefix(prefix).and_then(|rest| rest.split_once('`'));
    // The path is the object's, and the message names the member. The field joins both.
    if let Some((name, _)) = named("missing field `") {
        return ApiError::field(below(name), "this member is required");
    }
    if let Some((name, rule)) = named("member `") {
        return ApiError::field(below(name), rule.trim_start());
    }
    let detail = in_words(told);
    match path {
        "." => ApiError::new(ErrorCode::InvalidRequest, format!("the body {detail}")),
        path => ApiError::field(path, detail),
    }
}

/// The refusal of a body that is not JSON.
pub(super) fn not_json(error: &serde_json::Error) -> ApiError {
    match error.classify() {
        Category::Eof => ApiError::new(ErrorCode::InvalidJson, "the body ends before it is complete"),
        Category::Io | Category::Syntax | Category::Data => not_json_from(error.line(), error.column()),
    }
}

/// The refusal of a body that is UTF-8 up to this byte.
pub(super) fn not_utf8(body: &[u8], from: usize) -> ApiError {
    let before = body.get(..from).unwrap_or(body);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before.rsplit(|&byte| byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
    not_json_from(line, column)
}

fn not_json_from(line: usize, column: usize) -> ApiError {
    let detail = format!("the body is not JSON from line {line}, column {column} on");
    ApiError::new(ErrorCode::InvalidJson, detail)
}

/// Names the type that the position must have.
fn in_words(told: &str) -> String {
    if told.starts_with("UUID parsing failed") {
        return "must be a UUID".to_owned();
    }
    if told.starts_with("unknown field ") {
        return "is no member that there is: leave it out".to_owned();
    }
    let Some((_, expected)) = told.rsplit_once(", expected ") else { return told.to_owned() };
    let wanted = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("a nonzero ") => "a whole number of at least 1",
        _ if ["enum ", "variant "].iter().any(|kind| expected.starts_with(kind)) => "something else",
        expected => expected,
    };
    format!("must be {wanted}")
}
