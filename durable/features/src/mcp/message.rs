//! The JSON-RPC 2.0 messages of MCP.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The supported revisions, the newest first. The client asks for the newest. Later revisions (2026-07-28) have neither
/// sessions nor `initialize`, and their servers refuse ours with the names of their revisions.
pub const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// JSON-RPC's error code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Serialize)]
struct Outgoing<'a, P: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

/// `{}`
#[derive(Serialize)]
pub struct Empty {}

/// A message from a server: a request, a notification or a response.
#[derive(Debug, Deserialize)]
pub struct Incoming {
    pub id: Option<Box<RawValue>>,
    pub method: Option<String>,
    pub params: Option<Box<RawValue>>,
    pub result: Option<Box<RawValue>>,
    pub error: Option<RpcError>,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcError {
    pub code: i64,
    #[serde(default)]
    pub message: String,
}

/// `notifications/progress`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub progress_token: u64,
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// The result of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    pub protocol_version: String,
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// The capabilities of a server. A present member counts, whatever its value.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Capabilities {
    pub tools: Option<serde::de::IgnoredAny>,
    pub resources: Option<serde::de::IgnoredAny>,
    pub prompts: Option<serde::de::IgnoredAny>,
}

/// The parameters of `initialize`, without capabilities of the client.
pub fn initialize() -> serde_json::Value {
    let client = serde_json::json!({"name": "espalier", "version": env!("CARGO_PKG_VERSION")});
    serde_json::json!({"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": client})
}

/// A request.
pub fn request(id: u64, method: &str, params: &impl Serialize) -> Vec<u8> {
    written(&Outgoing { jsonrpc: "2.0", id: Some(id), method, params: Some(params) })
}

/// A notification.
pub fn notification(method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    written(&Outgoing { jsonrpc: "2.0", id: None, method, params })
}

/// The response to a server's request: an empty result for a ping, and an error for every other method, because the
/// client has no capabilities.
pub fn answer(id: &RawValue, method: &str) -> Vec<u8> {
    let is_ping = method == "ping";
    let error = RpcError { code: METHOD_NOT_FOUND, message: "this client does not offer that".to_owned() };
    let (result, error) = if is_ping { (Some(Empty {}), None) } else { (None, Some(error)) };
    written(&Answer { jsonrpc: "2.0", id, result, error })
}

/// Serializing our own types cannot fail.
fn written(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}
