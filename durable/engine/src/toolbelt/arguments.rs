//! Reads the arguments of our own tools, leniently: small models write them almost right.
//!
//! The tool's schema is the standard. This module converts a value of another JSON type where it can mean
//! only one thing. It refuses the rest with a correction that a model can act on, and with the schema's
//! example. Client tools, MCP tools and `finish_subtask` are checked elsewhere, strictly against their
//! foreign schemas.

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::toolbelt::ToolError;
use crate::toolbelt::{ToolSpec, not_json};

/// Members in which models wrap their arguments: the words of the wires that they were trained on.
pub const WRAPPERS: [&str; 4] = ["arguments", "parameters", "properties", "input"];
/// The most of a model's own words that a refusal repeats: characters of a name or a value, and number of
/// names.
pub const MAX_TOLD_CHARS: usize = 40;
const MAX_TOLD_NAMES: usize = 3;

/// Reads a call's arguments into their Rust type. The model reads the error.
pub fn read<T: DeserializeOwned>(spec: &ToolSpec, written: &str) -> Result<T, ToolError> {
    let schema = schema_of(spec);
    let given = object(written).map_err(|problem| refused(spec, "", &problem))?;
    let mut given = Value::Object(unwrapped(given, &schema));
    settle(&mut given, &schema);
    wire::json::from_value(&given).map_err(|_| match fault(&given, &schema, "") {
        Some((at, problem)) => refused(spec, &at, &problem),
        None => refused(spec, "", "they are not what the tool takes"),
    })
}

/// The refusal of a call: the place of the fault, the reason, and an example of a right call.
pub fn refused(spec: &ToolSpec, at: &str, problem: &str) -> ToolError {
    let schema = schema_of(spec);
    let example = schema.get("examples").and_then(|examples| examples.get(0));
    let example = example.map_or_else(|| "{}".to_owned(), Value::to_string);
    let at = if at.is_empty() { String::new() } else { format!(" at {at}") };
    ToolError(format!("invalid arguments{at}: {problem}. A right call: {example}"))
}

pub fn schema_of(spec: &ToolSpec) -> Value {
    wire::json::from_str(spec.input_schema.0.get()).unwrap_or_default()
}

/// The arguments as a JSON object. A blank text and `null` count as an empty object.
fn object(written: &str) -> Result<Map<String, Value>, String> {
    let text = unfenced(written);
    if text.is_empty() || text == "null" {
        return Ok(Map::new());
    }
    let mut value: Value = wire::json::from_str(text).map_err(|error| not_json(&error))?;
    // Some models write the object as a string once more.
    if let Value::String(inner) = &value
        && let Ok(object) = wire::json::from_str(unfenced(inner))
    {
        value = object;
    }
    match value {
        Value::Object(members) => Ok(members),
        _ => Err("they must be a JSON object".to_owned()),
    }
}

/// The content of a Markdown code block, if the whole text is one; else the trimmed text.
fn unfenced(written: &str) -> &str {
    let text = written.trim();
    match text.strip_prefix("```").and_then(|block| block.strip_suffix("```")) {
        Some(block) => block.trim_start_matches(char::is_alphanumeric).trim(),
        None => text,
    }
}

/// The arguments without a wrapper. A test checks that our own tools have no member with a wrapper's name.
fn unwrapped(mut given: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let has_own = properties(schema).any(|(name, _)| spelling(&given, name).is_some());
    let inner = WRAPPERS.iter().filter(|_| !has_own).find_map(|name| match given.get_mut(*name) {
        Some(Value::Object(inner)) => Some(std::mem::take(inner)),
        _ => None,
    });
    inner.unwrap_or(given)
}

/// Converts a value to the type of its schema, where its meaning is unambiguous.
fn settle(value: &mut Value, schema: &Value) {
    let items = schema.get("items").unwrap_or(&Value::Null);
    let settled = match (kind(schema), &mut *value) {
        ("object", Value::Object(members)) => {
            settle_members(members, schema);
            None
        }
        ("array", Value::Array(list)) => {
            list.iter_mut().for_each(|item| settle(item, items));
            None
        }
        ("object", Value::String(text)) => parsed(text, Value::is_object),
        ("array", Value::String(text)) => {
            let alone = || (kind(items) == "string").then(|| Value::Array(vec![Value::String(text.clone())]));
            parsed(text, Value::is_array).or_else(alone)
        }
        ("array", Value::Object(members)) if kind(items) == "object" => {
            Some(Value::Array(vec![Value::Object(std::mem::take(members))]))
        }
        ("string", Value::Number(number)) => Some(Value::String(number.to_string())),
        ("string", Value::Bool(flag)) => Some(Value::String(flag.to_string())),
        ("string", Value::String(text)) => choice(text, schema),
        ("integer", Value::Number(number)) => whole(number),
        ("integer", Value::String(text)) => {
            let number = text.trim().parse::<Number>().ok();
            number.and_then(|number| whole(&number).or(Some(Value::Number(number))))
        }
        ("boolean", Value::String(text)) => match text.trim() {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    };
    let Some(settled) = settled else { return };
    let was_container = settled.is_array() || settled.is_object();
    *value = settled;
    // A value that was parsed from a string or put into a list still needs its own parts converted.
    if was_container {
        settle(value, schema);
    }
}

/// Converts members to their names and types, and drops empty optional ones.
fn settle_members(members: &mut Map<String, Value>, schema: &Value) {
    for (name, property) in properties(schema) {
        let Some(mut value) = spelling(members, name).and_then(|written| members.remove(&written)) else {
            continue;
        };
        if is_required(schema, name) || !says_nothing(&value, property) {
            settle(&mut value, property);
            members.insert(name.clone(), value);
        }
    }
}

/// The written name of a member: its own, else one that differs in case or separators alone, such as
/// `fromLine`.
fn spelling(members: &Map<String, Value>, name: &str) -> Option<String> {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    if members.contains_key(name) {
        return Some(name.to_owned());
    }
    let wanted = plain(name);
    members.keys().find(|written| plain(written) == wanted).cloned()
}

/// Whether a value is empty: null, or, unless the schema wants free text, a string that stands for nothing.
fn says_nothing(value: &Value, schema: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => {
            let is_free_text = kind(schema) == "string" && schema.get("enum").is_none();
            !is_free_text && matches!(text.trim(), "" | "null" | "None")
        }
        _ => false,
    }
}

fn parsed(text: &str, is_wanted: fn(&Value) -> bool) -> Option<Value> {
    wire::json::from_str(text).ok().filter(is_wanted)
}

/// The value of an enum that differs in case or separators alone.
fn choice(text: &str, schema: &Value) -> Option<Value> {
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    let choices = schema.get("enum")?.as_array()?;
    choices.iter().find(|choice| choice.as_str().is_some_and(|name| name == plain(text))).cloned()
}

/// A number without a fraction as an integer: `5.0` is 5.
fn whole(number: &Number) -> Option<Value> {
    let text = number.is_f64().then(|| number.to_string())?;
    text.strip_suffix(".0")?.parse::<i64>().ok().map(Value::from)
}

/// The first place where a value violates its schema, with the reason.
fn fault(value: &Value, schema: &Value, at: &str) -> Option<(String, String)> {
    if !fits(value, schema) {
        return Some((at.to_owned(), format!("it must be {}, not {}", wanted(schema), described(value))));
    }
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match value {
        Value::Object(members) => properties(schema).find_map(|(name, property)| match members.get(name) {
            Some(member) => fault(member, property, &below(name)),
            None if is_required(schema, name) => {
                let unknown = unknown(members, schema);
                Some((below(name), format!("it is missing; it must be {}{unknown}", wanted(property))))
            }
            None => None,
        }),
        Value::Array(items) => {
            let schema = schema.get("items")?;
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| fault(item, schema, &format!("{at}[{index}]")))
        }
        _ => None,
    }
}

fn fits(value: &Value, schema: &Value) -> bool {
    match kind(schema) {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "string" => {
            let choices = schema.get("enum").and_then(Value::as_array);
            value.is_string() && choices.is_none_or(|choices| choices.contains(value))
        }
        "integer" => {
            let limit = |name: &str| schema.get(name).and_then(Value::as_i64);
            let least = |value: i64| limit("minimum").is_none_or(|least| value >= least);
            value.as_i64().is_some_and(least)
        }
        _ => true,
    }
}

/// The wanted type of a schema, in words.
fn wanted(schema: &Value) -> String {
    let quoted = |choices: &Vec<Value>| choices.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    match (kind(schema), schema.get("enum").and_then(Value::as_array), schema.get("minimum")) {
        ("string", Some(choices), _) => format!("one of {}", quoted(choices)),
        ("string", None, _) => "a string".to_owned(),
        ("integer", _, Some(least)) => format!("a whole number of at least {least}"),
        ("integer", _, None) => "a whole number".to_owned(),
        ("boolean", ..) => "true or false".to_owned(),
        ("array", ..) => match schema.get("items").map(kind) {
            Some("string") => "a list of strings".to_owned(),
            _ => "a list of objects".to_owned(),
        },
        _ => "an object".to_owned(),
    }
}

/// The given value, in words.
fn described(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("{:?}", clipped(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The unknown names among the members: a misspelt name of the missing member may be one of them.
fn unknown(members: &Map<String, Value>, schema: &Value) -> String {
    let is_known = |name: &String| properties(schema).any(|(known, _)| known == name);
    let unknown = members.keys().filter(|name| !is_known(name)).take(MAX_TOLD_NAMES);
    let names: Vec<String> = unknown.map(|name| format!("{:?}", clipped(name))).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; there is no member {}", names.join(", ")),
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(MAX_TOLD_CHARS) {
        Some((end, _)) => format!("{}…", text.split_at(end).0),
        None => text.to_owned(),
    }
}

fn kind(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

pub fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}
