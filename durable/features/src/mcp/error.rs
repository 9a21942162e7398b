//! Errors of MCP requests, with a text for the model and the operator's log, and a code for telemetry.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::reply::{MAX_BYTES, Unreadable};
use wire::http::Unreachable;
use wire::redact::redacted;

/// Why a request failed. Texts of a server are redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpError {
    Unreachable,
    /// The server was silent for this many milliseconds, after this progress.
    Silent(u64, Option<String>),
    /// The connection ended before the response and could not be resumed.
    Cut,
    TooLarge,
    /// The response violates MCP.
    NotMcp(String),
    Unauthorized(String),
    /// The server answered with this status.
    Status(u16, String),
    /// The server does not speak the revision of the request, but these.
    OtherVersions(Vec<String>),
    /// The server has forgotten the session.
    SessionLost(u16),
    /// A JSON-RPC error.
    Refused(i64, String),
}

impl McpError {
    /// A text that tells the model what to do.
    pub fn explained(&self, server: &str) -> String {
        let gone = "go on without it, or try again later";
        let unknown = "the result is unknown, and the call may have taken effect";
        match self {
            McpError::Unreachable => format!("the MCP server {server} could not be reached; {gone}"),
            McpError::Silent(ms, progress) => {
                let last = progress.as_ref().map(|last| format!(" (its last progress was {last})"));
                let last = last.unwrap_or_default();
                format!("the MCP server {server} did not answer for {ms} ms{last}; {unknown}")
            }
            McpError::Cut => format!("the MCP server {server} closed the connection early; {unknown}"),
            McpError::TooLarge => {
                format!(
                    "the answer of the MCP server {server} is larger than {MAX_BYTES} bytes; ask it for less"
                )
            }
            McpError::NotMcp(what) => {
                format!("the MCP server {server} sent an invalid response: {what}; {gone}")
            }
            McpError::Unauthorized(what) => format!(
                "the MCP server {server} refuses this service's credentials ({what}); only the operator can change that"
            ),
            McpError::Status(status, said) if said.is_empty() => {
                format!("the MCP server {server} answered {status}; {gone}")
            }
            McpError::Status(status, said) => format!("the MCP server {server} answered {status}: {said}"),
            McpError::OtherVersions(versions) => {
                let versions: String = redacted(&versions.join(", ")).chars().take(200).collect();
                format!("the MCP server {server} speaks other revisions of the protocol ({versions}); {gone}")
            }
            McpError::SessionLost(status) => {
                format!("the MCP server {server} answered {status} and keeps no session; {gone}")
            }
            McpError::Refused(code, said) => {
                format!("the MCP server {server} refused the call: {said} (error {code})")
            }
        }
    }

    /// The code for the operator's telemetry.
    pub fn code(&self) -> &'static str {
        match self {
            McpError::Unreachable => "mcp_unreachable",
            McpError::Silent(..) => "mcp_silent",
            McpError::Cut => "mcp_cut",
            McpError::TooLarge => "mcp_too_large",
            McpError::NotMcp(_) | McpError::OtherVersions(_) => "mcp_protocol",
            McpError::Unauthorized(_) => "mcp_unauthorized",
            McpError::Status(..) | McpError::SessionLost(_) => "mcp_status",
            McpError::Refused(..) => "mcp_refused",
        }
    }
}

impl From<Unreadable> for McpError {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::TooLarge => McpError::TooLarge,
            Unreadable::NotJson => McpError::NotMcp("it is not JSON-RPC".to_owned()),
        }
    }
}

impl From<Unreachable> for McpError {
    fn from(Unreachable: Unreachable) -> Self {
        McpError::Unreachable
    }
}

/// Reads a result as its expected type.
pub fn parsed<T: DeserializeOwned>(result: &RawValue) -> Result<T, McpError> {
    // The error names a position and a type, and may repeat a value.
    wire::json::from_str(result.get()).map_err(|error| {
        McpError::NotMcp(format!("its result has an unexpected shape: {}", redacted(&error.to_string())))
    })
}
