//! Why a request has no result, for the model, for the operator's log, and in one word for telemetry.

use super::reply::{MAX_BYTES, Unreadable};
use wire::http::Unreachable;

/// Why there is no result. What a server said is redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Unreachable,
    /// Nothing was heard for so many milliseconds, after this much progress.
    Silent(u64, Option<String>),
    /// The connection ended before the answer, and could not be resumed.
    Cut,
    TooLarge,
    /// What came is not MCP.
    NotMcp(String),
    Unauthorized(String),
    /// The server answered with this status.
    Status(u16, String),
    /// The server does not know the session any more.
    SessionLost(u16),
    /// A JSON-RPC error.
    Refused(i64, String),
}

impl Failure {
    /// In words that the model can act on.
    pub fn told(&self, server: &str) -> String {
        let gone = "go on without it, or try again later";
        let unknown = "the result is unknown, and the call may have taken effect";
        match self {
            Failure::Unreachable => format!("the MCP server {server} could not be reached; {gone}"),
            Failure::Silent(ms, progress) => {
                let last = progress.as_ref().map(|last| format!(" (the last it said was {last})"));
                let last = last.unwrap_or_default();
                format!("the MCP server {server} did not answer for {ms} ms{last}; {unknown}")
            }
            Failure::Cut => format!("the MCP server {server} closed the connection early; {unknown}"),
            Failure::TooLarge => {
                format!(
                    "the answer of the MCP server {server} is larger than {MAX_BYTES} bytes; ask it for less"
                )
            }
            Failure::NotMcp(what) => format!("the MCP server {server} gave no proper answer: {what}; {gone}"),
            Failure::Unauthorized(what) => format!(
                "the MCP server {server} does not let this service in ({what}); only its operator can change that"
            ),
            Failure::Status(status, said) if said.is_empty() => {
                format!("the MCP server {server} answered {status}; {gone}")
            }
            Failure::Status(status, said) => format!("the MCP server {server} answered {status}: {said}"),
            Failure::SessionLost(status) => {
                format!("the MCP server {server} answered {status} and keeps no session; {gone}")
            }
            Failure::Refused(code, said) => {
                format!("the MCP server {server} refused the call: {said} (error {code})")
            }
        }
    }

    /// A word for the operator's telemetry.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::Unreachable => "mcp_unreachable",
            Failure::Silent(..) => "mcp_silent",
            Failure::Cut => "mcp_cut",
            Failure::TooLarge => "mcp_too_large",
            Failure::NotMcp(_) => "mcp_protocol",
            Failure::Unauthorized(_) => "mcp_unauthorized",
            Failure::Status(..) | Failure::SessionLost(_) => "mcp_status",
            Failure::Refused(..) => "mcp_refused",
        }
    }
}

impl From<Unreadable> for Failure {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::TooLarge => Failure::TooLarge,
            Unreadable::NotJson => Failure::NotMcp("it is not JSON-RPC".to_owned()),
        }
    }
}

impl From<Unreachable> for Failure {
    fn from(Unreachable: Unreachable) -> Self {
        Failure::Unreachable
    }
}
