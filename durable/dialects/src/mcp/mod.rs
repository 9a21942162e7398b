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

use crate::template::Hole::{Json, Number, Text};
use crate::template::{fill, filled, separate};

pub use encoder::Encoder;
pub use request::{Abilities, Era, Message, MessageBody, Refusal, Request, decisions, read};
pub use tools::{
    CHAT, Planned, contents_of, listed, plan, resource, sample, templates, threads, tool_result, tools,
};

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
/// In place of the id of a request that could not be read.
pub const NO_ID: &str = "null";
/// The data of the error for a client without the extension for tasks.
pub const NEEDS_TASKS: &[u8] =
    br#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
/// The prefix of the ids of tasks.
const TASK: &str = "task";

/// The name and the version of the server, as JSON.
const SERVER: &str =
    concat!(r#"{"name":"espalier","title":"Espalier","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

const INSTRUCTIONS: &str = "Espalier is a chat service whose agent has tools, files, memories and documents of its own. \
    `chat` sends a message to it; the same `thread_id` goes on with a conversation.";

/// A response with this result, as JSON. `id`: of the request, as JSON.
pub fn response(id: &str, result: &[u8]) -> Vec<u8> {
    filled(r#"{"id":$,"jsonrpc":"2.0","result":$}"#, &[Json(id.as_bytes()), Json(result)])
}

/// A response with an error, as JSON. `id`: null where the request could not be read. `data`: JSON, or nothing.
pub fn error(id: &str, code: i64, message: &str, data: &[u8]) -> Vec<u8> {
    let code = code.to_string();
    let mut more = Vec::new();
    if !data.is_empty() {
        fill(r#","data":$"#, &[Json(data)], &mut more);
    }
    let error = [Json(code.as_bytes()), Text(message), Json(&more)];
    let mut members = filled(r#""error":{"code":$,"message":$$}"#, &error);
    if id != NO_ID {
        fill(r#","id":$"#, &[Json(id.as_bytes())], &mut members);
    }
    filled(r#"{"jsonrpc":"2.0",$}"#, &[Json(&members)])
}

/// A complete result of these members, in the form of the client's revision.
pub fn complete(is_modern: bool, members: &[u8]) -> Vec<u8> {
    typed(is_modern, "complete", members)
}

/// A complete result that only its user may keep, for so many milliseconds.
fn kept(is_modern: bool, ms: u64, members: &[u8]) -> Vec<u8> {
    let mut members = members.to_vec();
    if is_modern {
        fill(r#","cacheScope":"private","ttlMs":$"#, &[Number(ms)], &mut members);
    }
    complete(is_modern, &members)
}

/// A list of tools or templates.
pub fn list(is_modern: bool, members: &[u8]) -> Vec<u8> {
    kept(is_modern, LISTS_MS, members)
}

/// Data of the user, which may change at any time.
pub fn data(is_modern: bool, members: &[u8]) -> Vec<u8> {
    kept(is_modern, 0, members)
}

/// A result of this kind and these members, in the form of the client's revision.
fn typed(is_modern: bool, kind: &str, members: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    if is_modern {
        let typed = r#""_meta":{"io.modelcontextprotocol/serverInfo":$},"resultType":$"#;
        fill(typed, &[Json(SERVER.as_bytes()), Text(kind)], &mut all);
        if !members.is_empty() {
            separate(&mut all);
        }
    }
    all.extend_from_slice(members);
    filled("{$}", &[Json(&all)])
}

/// The result of `server/discover`.
pub fn discovered() -> Vec<u8> {
    let result = r#""capabilities":{"extensions":{$:{}},"resources":{},"tools":{}},"instructions":$,"supportedVersions":$"#;
    list(true, &filled(result, &[Text(TASKS), Text(INSTRUCTIONS), Json(&versions())]))
}

/// All revisions, newest first.
fn versions() -> Vec<u8> {
    let [newer, older] = LEGACY;
    filled("[$,$,$]", &[Text(MODERN), Text(newer), Text(older)])
}

/// The result of `initialize`: the revision that the client asked for, or the newest one that begins so.
pub fn initialized(asked: &Value) -> Vec<u8> {
    let version = LEGACY.into_iter().find(|version| asked == version).unwrap_or(LEGACY[0]);
    let result =
        r#"{"capabilities":{"resources":{},"tools":{}},"instructions":$,"protocolVersion":$,"serverInfo":$}"#;
    filled(result, &[Text(INSTRUCTIONS), Text(version), Json(SERVER.as_bytes())])
}

/// The body of the turn that a call of `chat` is. `thread_id`: as the client gave it.
pub fn chat(message: &str, thread_id: Option<&Value>, stops: bool) -> Vec<u8> {
    let thread_id = thread_id.unwrap_or(&Value::Null).to_string();
    let stops: &[u8] = if stops { b"true" } else { b"false" };
    let body = r#"{"cancel_on_disconnect":$,"content":$,"thread_id":$}"#;
    filled(body, &[Json(stops), Text(message), Json(thread_id.as_bytes())])
}

/// The data of an error about a resource.
pub fn of_resource(uri: &str) -> Vec<u8> {
    filled(r#"{"uri":$}"#, &[Text(uri)])
}

/// The metadata of the protected resource that the server is (RFC 9728). `servers`: the issuers of tokens.
pub fn protected_resource(resource: &str, servers: &[&str]) -> Vec<u8> {
    let mut list = Vec::new();
    for server in servers {
        separate(&mut list);
        fill("$", &[Text(server)], &mut list);
    }
    let metadata = r#"{"authorization_servers":[$],"bearer_methods_supported":["header"],"resource":$,"resource_name":"Espalier"}"#;
    filled(metadata, &[Json(&list), Text(resource)])
}

/// The thread and the turn of a task.
pub fn task(id: &str) -> Option<crate::ids::Place> {
    crate::ids::read(TASK, id).map(|(place, _)| place).filter(|place| place.segment == 0)
}

#[cfg(test)]
mod tests;
