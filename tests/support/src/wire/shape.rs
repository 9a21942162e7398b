//! The shape of an event by the service's own description, `openapi.json`: no member is missing, none is of another type,
//! none is unknown. A member that may be absent is never null. The examples in `docs/wire-protocol.md`, which are written by
//! hand, check the description.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../../web/public/openapi.json");
    serde_json::from_str(text).expect("openapi.json is JSON")
});

/// The members that a schema declares for one object.
#[derive(Default)]
struct Members {
    by_name: BTreeMap<&'static str, &'static Value>,
    required: Vec<&'static str>,
    /// The schema of each other member, where there may be any.
    others: Option<&'static Value>,
}

/// Checks the data of an event.
pub fn check(data: &Value) -> Result<(), String> {
    check_value(event_schema(), data)
}

/// The names of all members that an event of this type may have.
pub fn member_names(data: &Value) -> Result<Vec<&'static str>, String> {
    let mut members = Members::default();
    collect(event_schema(), data, &mut members)?;
    Ok(members.by_name.into_keys().collect())
}

fn event_schema() -> &'static Value {
    &DESCRIPTION["components"]["schemas"]["Numbered"]
}

fn check_value(schema: &'static Value, value: &Value) -> Result<(), String> {
    let mut members = Members::default();
    collect(schema, value, &mut members)?;
    let Some(object) = value.as_object() else { return Ok(()) };
    if let Some(name) = members.required.iter().find(|name| !object.contains_key(**name)) {
        return Err(format!("{name} is missing"));
    }
    for (name, value) in object {
        let schema = match members.by_name.get(name.as_str()) {
            Some(_) if value.is_null() && !members.required.contains(&name.as_str()) => {
                return Err(format!("{name} is null"));
            }
            Some(schema) => schema,
            None if members.by_name.is_empty() => members.others.unwrap_or(&Value::Null),
            None => return Err(format!("the wire has no member {name:?} here")),
        };
        check_value(schema, value).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Checks a value but for its members, and collects the declarations of these.
fn collect(schema: &'static Value, value: &Value, members: &mut Members) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        collect(&DESCRIPTION["components"]["schemas"][name], value, members)?;
    }
    for part in list(&schema["allOf"]) {
        collect(part, value, members)?;
    }
    let mut choices = [list(&schema["oneOf"]), list(&schema["anyOf"])].concat();
    if !choices.is_empty() {
        choices.retain(|choice| (choice["type"] == "null") == value.is_null());
        let is_it = |choice: &&'static Value| match choice.pointer("/properties/type/const") {
            Some(tag) => *tag == value["type"],
            None => check_value(choice, value).is_ok(),
        };
        let choice = match choices[..] {
            [only] => Some(only),
            _ => choices.into_iter().find(is_it),
        };
        collect(choice.ok_or_else(|| format!("{value} is no choice here"))?, value, members)?;
    }
    let is_type = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    };
    let fits_type = match &schema["type"] {
        Value::String(name) => is_type(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is_type),
        _ => true,
    };
    let is_named = schema.get("const").is_none_or(|word| word == value)
        && schema["enum"].as_array().is_none_or(|words| words.contains(value));
    if !fits_type || !is_named {
        return Err(format!("{value} is not allowed here"));
    }
    for item in value.as_array().into_iter().flatten() {
        check_value(&schema["items"], item)?;
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    members.by_name.extend(properties.map(|(name, schema)| (name.as_str(), schema)));
    members.required.extend(list(&schema["required"]).into_iter().filter_map(Value::as_str));
    members.others = schema.get("additionalProperties").or(members.others);
    Ok(())
}

fn list(value: &'static Value) -> Vec<&'static Value> {
    value.as_array().into_iter().flatten().collect()
}
