//! The Model Context Protocol: the service as a server of tools. Revision 2026-07-28 has no sessions: each request says who
//! asks, and what the client can do. The two revisions before it begin with `initialize`; nothing is kept of it.
//!
//! `chat` becomes a turn, and [`Encoder`] writes its events as the response. Each other tool is one of our own routes
//! ([`tools`]). docs/clients.md describes what a client may rely on.

mod encoder;
mod form;
mod request;
mod tools;

use serde_json::Value;

use crate::given::{object, with};

pub use encoder::Encoder;
pub use request::{Abilities, Era, Message, MessageBody, Refusal, Request, decisions, read};
pub use tools::{CHAT, Planned, contents, plan, resource, sample, templates, threads, tool_result, tools};

/// The revision without sessions.
pub const MODERN: &str = "2026-07-28";
/// The revisions that begin with `initialize`, newest first.
pub const LEGACY: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// The name of the extension for tasks.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The codes of errors, as JSON-RPC 2.0 and the revision 2026-07-28 define them.
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL: i64 = -32603;
/// Until 2025-11-25.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
pub const MISSING_CAPABILITY: i64 = -32021;
/// A refusal of ours before the request is read; the protocol leaves this code to us.
pub const REFUSED: i64 = -32000;
const PARSE: i64 = -32700;
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;

/// How long a client may keep the lists of tools and templates, in milliseconds. They change with a deploy.
const LISTS_MS: u64 = 300_000;
/// Stands between the id of a form and that of its question. No id of a wait has it.
const OF_FORM: char = '/';
/// The prefix of the ids of tasks.
const TASK: &str = "task";

/// The name and the version of the server, as JSON.
const SERVER: &str =
    concat!(r#"{"name":"espalier","title":"Espalier","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

const INSTRUCTIONS: &str = "Espalier is a chat service whose agent has tools, files, memories and documents of its own. \
    `chat` sends a message to it; the same `thread_id` goes on with a conversation.";

/// A response with this result.
pub fn response(id: &Value, result: Value) -> Value {
    object! { "jsonrpc": "2.0", "id": id.clone(), "result": result }
}

/// A response with an error. `id`: null where the request could not be read.
pub fn error(id: &Value, code: i64, message: &str, data: Value) -> Value {
    let mut error = object! { "code": code, "message": message };
    if !data.is_null() {
        error = with(error, object! { "data": data });
    }
    let error = object! { "jsonrpc": "2.0", "error": error };
    if id.is_null() { error } else { with(error, object! { "id": id.clone() }) }
}

/// A complete result, in the form of the client's revision.
pub fn complete(is_modern: bool, result: Value) -> Value {
    typed(is_modern, "complete", result)
}

/// A complete result that only its user may keep, for so many milliseconds.
fn kept(is_modern: bool, ms: u64, result: Value) -> Value {
    let hints = object! { "ttlMs": ms, "cacheScope": "private" };
    complete(is_modern, if is_modern { with(result, hints) } else { result })
}

/// A list of tools or templates.
pub fn list(is_modern: bool, result: Value) -> Value {
    kept(is_modern, LISTS_MS, result)
}

/// Data of the user, which may change at any time.
pub fn data(is_modern: bool, result: Value) -> Value {
    kept(is_modern, 0, result)
}

fn typed(is_modern: bool, kind: &str, result: Value) -> Value {
    if !is_modern {
        return result;
    }
    let meta = object! { "io.modelcontextprotocol/serverInfo": server() };
    with(result, object! { "resultType": kind, "_meta": meta })
}

fn server() -> Value {
    wire::json::from_str(SERVER).unwrap_or_default()
}

/// The result of `server/discover`.
pub fn discovered() -> Value {
    let capabilities = with(capabilities(), object! { "extensions": object! { TASKS: object! {} } });
    let result = object! { "supportedVersions": versions(), "capabilities": capabilities, "instructions": INSTRUCTIONS };
    list(true, result)
}

/// All revisions, newest first.
fn versions() -> Value {
    let [newer, older] = LEGACY;
    Value::from(vec![Value::from(MODERN), Value::from(newer), Value::from(older)])
}

/// The result of `initialize`: the revision that the client asked for, or the newest one that begins so.
pub fn initialized(asked: &Value) -> Value {
    let version = LEGACY.into_iter().find(|version| asked == version).unwrap_or(LEGACY[0]);
    object! {
        "protocolVersion": version, "capabilities": capabilities(), "serverInfo": server(),
        "instructions": INSTRUCTIONS,
    }
}

fn capabilities() -> Value {
    object! { "tools": object! {}, "resources": object! {} }
}

/// The thread and the turn of a task.
pub fn task(id: &str) -> Option<crate::ids::Place> {
    crate::ids::read(TASK, id).map(|(place, _)| place).filter(|place| place.segment == 0)
}

#[cfg(test)]
mod tests;
