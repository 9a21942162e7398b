//! The arguments of a call that comes in pieces: each piece names its place by a JSONPath of names and indexes.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::event::PartialArg;

/// The deepest place of an argument. The JSON parser allows 128 levels of nesting; a deeper value could not be read
/// again.
const MAX_DEPTH: usize = 100;

/// Sets an argument, or appends to it if it is a string. Returns the number of bytes that it added; none if the path
/// is invalid or contradicts an earlier one.
pub fn set(arguments: &mut Value, piece: PartialArg<'_>) -> Option<usize> {
    let path = piece.json_path.as_str();
    let at = place(arguments, steps(path)?)?;
    // The names of the path are new with the value.
    let names = if at.is_null() { path.len() } else { 0 };
    let bytes = match (piece.string_value, piece.number_value, piece.bool_value) {
        (Some(text), ..) => {
            match at {
                Value::String(known) => known.push_str(text.as_str()),
                other => *other = Value::String(text.as_str().to_owned()),
            }
            text.as_str().len()
        }
        (None, Some(number), _) => {
            *at = Value::Number(number);
            8
        }
        (None, None, Some(flag)) => {
            *at = Value::Bool(flag);
            8
        }
        (None, None, None) => 8,
    };
    Some(names + bytes)
}

/// A step of a path.
#[derive(Debug, PartialEq)]
enum PathStep<'p> {
    Name(Cow<'p, str>),
    Index(usize),
}

/// The steps of a path such as `$.items[0].name` or `$['first name']`.
fn steps(path: &str) -> Option<Vec<PathStep<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() >= MAX_DEPTH {
            return None;
        }
        let step;
        (step, rest) = match rest.strip_prefix('.') {
            Some(name) => {
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (name, rest) = name.split_at(end);
                (PathStep::Name(Cow::Borrowed(name)), rest)
            }
            None => bracket(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
    }
    Some(steps)
}

/// The step in brackets, and the path after it.
fn bracket(inner: &str) -> Option<(PathStep<'_>, &str)> {
    let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let (index, rest) = inner.split_once(']')?;
        return Some((PathStep::Index(index.parse().ok()?), rest));
    };
    let quoted = inner.get(1..)?;
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            c if c == quote => {
                let rest = quoted.get(at + 1..)?.strip_prefix(']')?;
                return Some((PathStep::Name(Cow::Owned(name)), rest));
            }
            c => name.push(c),
        }
    }
    None
}

/// The value at a place. Makes it if it is new; a list grows by one element at a time, so a piece cannot make a long
/// one.
fn place<'v>(root: &'v mut Value, steps: Vec<PathStep<'_>>) -> Option<&'v mut Value> {
    let mut at = root;
    for step in steps {
        at = match step {
            PathStep::Name(name) => {
                if at.is_null() {
                    *at = Value::Object(Map::new());
                }
                at.as_object_mut()?.entry(name).or_insert(Value::Null)
            }
            PathStep::Index(index) => {
                if at.is_null() {
                    *at = Value::Array(Vec::new());
                }
                let list = at.as_array_mut()?;
                if index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(index)?
            }
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_DEPTH, set};
    use crate::gemini::event::PartialArg;

    /// The arguments from these pieces; none if one of them is refused.
    fn of(pieces: &[Value]) -> Option<Value> {
        let mut arguments = json!({});
        for piece in pieces {
            let text = piece.to_string();
            set(&mut arguments, serde_json::from_str::<PartialArg<'_>>(&text).unwrap())?;
        }
        Some(arguments)
    }

    fn text(path: &str, piece: &str) -> Value {
        json!({"jsonPath": path, "stringValue": piece})
    }

    #[test]
    fn pieces_of_every_kind() {
        let pieces = [
            text("$.city", "San "),
            text("$.city", "Francisco"),
            json!({"jsonPath": "$.days", "numberValue": 3}),
            json!({"jsonPath": "$.exact", "boolValue": true}),
            json!({"jsonPath": "$.none", "nullValue": null}),
            text("$.list[0].name", "a"),
            text("$.list[1]['the name']", "b"),
            text("$[\"it's \\\"q\\\"\"]", "c"),
        ];
        let expected = json!({
            "city": "San Francisco", "days": 3, "exact": true, "none": null,
            "list": [{"name": "a"}, {"the name": "b"}], "it's \"q\"": "c",
        });
        assert_eq!(of(&pieces), Some(expected));
    }

    #[test]
    fn a_later_value_wins_and_a_string_only_grows() {
        let number = json!({"jsonPath": "$.a", "numberValue": 1});
        assert_eq!(of(&[text("$.a", "x"), number.clone()]), Some(json!({"a": 1})));
        assert_eq!(of(&[number, text("$.a", "x"), text("$.a", "")]), Some(json!({"a": "x"})));
    }

    #[test]
    fn paths_that_are_refused() {
        let inside = [text("$.a", "x"), text("$.a.b", "y")];
        assert_eq!(of(&inside), None, "a place inside a string");
        for path in ["", "a", "$a", "$[", "$[x]", "$['a'", "$['a']b", "$.a[1]", "$.a[-1]"] {
            assert_eq!(of(&[text(path, "x")]), None, "{path}");
        }
    }

    #[test]
    fn the_depth_is_bounded() {
        assert!(of(&[text(&format!("${}", ".a".repeat(MAX_DEPTH)), "x")]).is_some());
        assert_eq!(of(&[text(&format!("${}", ".a".repeat(MAX_DEPTH + 1)), "x")]), None);
    }
}
