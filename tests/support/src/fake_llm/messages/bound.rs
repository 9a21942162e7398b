//! Thinking that is bound to everything before it, as that of Claude 5.1 and later
//! (<https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>).

use serde_json::{Value, json};

use crate::fake_llm::wire::seal;

/// The beginning of a thought that is bound. Thinking of older models is bound to nothing.
pub const BOUND: &str = "[bound]";

/// The signature of a thought behind these messages of a request.
pub fn signature(thought: &str, body: &Value, before: &[Value]) -> String {
    if !thought.starts_with(BOUND) {
        return seal(thought);
    }
    let mut before = json!([body["system"], body["tools"], before]);
    strip(&mut before);
    seal(&format!("{thought}{before}"))
}

/// Leaves out what may change: marks of the cache, and thinking, which a request may lack.
fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item["type"] != "thinking");
            items.iter_mut().for_each(strip);
        }
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(strip);
        }
        _ => {}
    }
}
