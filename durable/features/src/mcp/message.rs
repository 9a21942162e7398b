//! The JSON-RPC 2.0 messages of MCP.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The revision without sessions: each request has the client's revision and abilities.
pub const MODERN: &str = "2026-07-28";

/// The supported revisions that begin with `initialize`, the newest first. The client asks for the newest.
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RpcError {
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The code of a server that does not speak the revision of a request.
const UNSUPPORTED_VERSION: i64 = -32022;

impl RpcError {
    /// The revisions that the server speaks, where it refuses that of the request.
    pub fn other_versions(&self) -> Option<Vec<String>> {
        let data = self.data.as_ref().filter(|_| self.code == UNSUPPORTED_VERSION)?;
        let supported = data.get("supported")?.as_array()?;
        Some(supported.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
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
    serde_json::json!({"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": client()})
}

/// The name of this client.
pub fn client() -> serde_json::Value {
    serde_json::json!({"name": "espalier", "version": env!("CARGO_PKG_VERSION")})
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
    let error = RpcError {
        code: METHOD_NOT_FOUND,
        message: "this client does not offer that".to_owned(),
        data: None,
    };
    let (result, error) = if is_ping { (Some(Empty {}), None) } else { (None, Some(error)) };
    written(&Answer { jsonrpc: "2.0", id, result, error })
}

/// Serializing our own types cannot fail.
fn written(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}
