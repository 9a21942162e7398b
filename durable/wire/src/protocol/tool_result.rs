//! The body of `POST …/tool_results`.

use serde::Deserialize;
use serde_json::Value;

use super::ApiError;
use super::request::read;

/// The body of `POST …/tool_results`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolResult {
    pub tool_call_id: String,
    /// The model gets a text unchanged, and any other value as JSON.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub result: Value,
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub is_error: bool,
}

impl ToolResult {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<ToolResult, ApiError> {
        read(body)
    }

    /// The result as the model reads it.
    pub fn content(&self) -> String {
        match &self.result {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}
