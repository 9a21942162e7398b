//! Schemas whose patterns are costly to compile.

use serde_json::{Map, Value, json};

/// A schema with this number of properties, each with a short pattern that would take megabytes when
/// compiled.
pub fn hungry(count: usize) -> Value {
    let pattern = |n: usize| json!({"type": "string", "pattern": format!("(?:a{{400}}){{{}}}", 400 + n)});
    let properties: Map<String, Value> = (0..count).map(|n| (format!("p{n}"), pattern(n))).collect();
    json!({"type": "object", "properties": properties})
}
