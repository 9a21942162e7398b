//! Google's Gemini API.

mod check;
mod reply;

pub use check::{check, position};
pub use reply::reply;

use serde_json::{Value, json};

use super::wire::seal;

/// The signature of a call: it fits this name and these arguments alone.
pub fn signature(call: &Value) -> String {
    seal(&json!([call["name"], call["args"]]).to_string())
}
