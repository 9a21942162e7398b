//! The questions of forms that other servers put to a person, as requests to our client.

use serde_json::{Map, Value};

use crate::template::Hole::{Json, Text};
use crate::template::{fill, filled, separate};
use wire::protocol::FormQuestion;

/// The schema of a form's question, with its properties in the order in which a person should see them.
pub fn schema(FormQuestion { schema, order, .. }: &FormQuestion) -> Vec<u8> {
    let mut members = Vec::new();
    for (name, value) in schema {
        let value = match value {
            Value::Object(properties) if name == "properties" => in_order(properties, order),
            value => value.to_string().into_bytes(),
        };
        add(name, &value, &mut members);
    }
    filled("{$}", &[Json(&members)])
}

fn in_order(properties: &Map<String, Value>, order: &[String]) -> Vec<u8> {
    let rest = properties.keys().filter(|name| !order.contains(name));
    let mut members = Vec::new();
    for name in order.iter().chain(rest) {
        if let Some(property) = properties.get(name) {
            add(name, property.to_string().as_bytes(), &mut members);
        }
    }
    filled("{$}", &[Json(&members)])
}

/// Appends a member.
pub fn add(name: &str, value: &[u8], members: &mut Vec<u8>) {
    separate(members);
    fill("$:$", &[Text(name), Json(value)], members);
}
