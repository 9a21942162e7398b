//! The API's description: an OpenAPI 3.1 document, made of the routing table, its comments and the wire's types. Only
//! the tests build it. `make openapi` writes it to `web/public/openapi.json`, which the Worker serves from its assets.
//!
//! A resource declares its routes with their answers (`resources`). This room has what several of them share.

pub mod contract;
mod document;
mod page;

use dialects::ai_sdk::MAX_CHAT_ID;
use serde_json::{Value, json};
use wire::protocol::{AGENT_NAME, ErrorCode, HOOK_AGENT, WORKFLOW_ID, WORKSPACE_NAME};

use crate::query::{MAX_LIMIT, MAX_SEQ, MAX_WANTED_CHARS};
use crate::router::Row;
use contract::{Contract, Parameter};

/// Whether a route may refuse with a code.
pub fn may_refuse(row: &Row, code: ErrorCode) -> bool {
    (row.contract)(Contract::of(row)).refusals().contains(&code)
}

/// An id of the examples.
pub const ID: &str = "8e13dae3-8b2b-85e9-b5cf-a30994b94875";

/// A parameter of a path, by the name that its route gives it. One without a line here is the UUID of what it is called.
// Long: an arm for each name.
fn path_parameter(name: &str) -> Parameter {
    let id = |what: &str| {
        Parameter::path(name, what, json!({ "type": "string", "format": "uuid" })).such_as(json!(ID))
    };
    let text = |what: &str, example: &str| {
        Parameter::path(name, what, json!({ "type": "string" })).such_as(json!(example))
    };
    match name {
        "id" => id("The thread's id."),
        "chat" => {
            let schema = json!({ "type": "string", "minLength": 1, "maxLength": MAX_CHAT_ID });
            Parameter::path(name, "The client's own id of the chat.", schema).such_as(json!("a-chat"))
        }
        "response" => {
            let schema = json!({ "type": "string", "pattern": "^resp_[0-9a-f]{64}[0-9]{1,9}$" });
            let example = json!(format!("resp_{}0", "0123456789abcdef".repeat(4)));
            Parameter::path(name, "The response's id.", schema).such_as(example)
        }
        // A collection's, which is a UUID, or a project's.
        "document" => text("The document's id.", ID),
        "workspace" => {
            let schema = json!({ "type": "string", "maxLength": WORKSPACE_NAME.max, "pattern": WORKSPACE_NAME.pattern() });
            Parameter::path(name, "The workspace's name.", schema).such_as(json!("notes"))
        }
        "approval" => {
            text("The `approval_id` of the request; to withdraw an approval, its tool.", "write_file")
        }
        "hook" => {
            let schema =
                json!({ "type": "string", "maxLength": AGENT_NAME.max, "pattern": AGENT_NAME.pattern() });
            Parameter::path(name, "The hook's name.", schema).such_as(json!("guard"))
        }
        "sign_in" => {
            let schema = json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" });
            Parameter::path(name, "The session's id.", schema).such_as(json!("0123456789abcdef".repeat(2)))
        }
        "share" => id("The share link's id."),
        "token" => {
            let schema = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{22}$" });
            Parameter::path(name, "The token of the share link.", schema)
                .such_as(json!("AAECAwQFBgcICQoLDA0ODw"))
        }
        "provider" => {
            let schema = json!({ "type": "string", "maxLength": 32, "pattern": "^[A-Za-z0-9-]+$" });
            Parameter::path(name, "The identity provider's id.", schema).such_as(json!("acme"))
        }
        "agent" => {
            let schema =
                json!({ "type": "string", "minLength": 1, "maxLength": HOOK_AGENT.len() + AGENT_NAME.max });
            Parameter::path(
                name,
                "The agent's name; of a hook that answered, `hook:` and the hook's name.",
                schema,
            )
            .such_as(json!("critic"))
        }
        "workflow" => {
            let schema =
                json!({ "type": "string", "maxLength": WORKFLOW_ID.max, "pattern": WORKFLOW_ID.pattern() });
            Parameter::path(name, "The workflow's id, chosen by its user.", schema).such_as(json!("release"))
        }
        "project" => text("The project's id.", ID),
        "task" => text("The task's id.", ID),
        "prefix" => text("The key's `prefix`.", "0123456789ab"),
        "path" => {
            let what = "The file's path in the workspace, percent-encoded but for its slashes.";
            let schema = json!({ "type": "string", "minLength": 1, "maxLength": 512 });
            Parameter::path(name, what, schema).such_as(json!("notes.md"))
        }
        other => id(&format!("The {other}'s id.")),
    }
}

pub fn wanted(what: &str) -> Parameter {
    Parameter::new("q", what, json!({ "type": "string", "maxLength": MAX_WANTED_CHARS }))
        .such_as(json!("hello"))
}

pub fn limit(what: &str) -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 50 });
    Parameter::new("limit", what, schema).such_as(json!(20))
}

pub fn cursor() -> Parameter {
    Parameter::text("cursor", "The `next_cursor` of the page before.")
}

pub fn event_number() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": MAX_SEQ })
}

impl Contract {
    /// The refusals of a route that starts a turn.
    pub fn refuses_turns(self) -> Self {
        self.in_thread().refuses(&[
            ErrorCode::CollectionNotFound,
            ErrorCode::TurnOnHold,
            ErrorCode::TurnInProgress,
            ErrorCode::TooManyVersions,
            ErrorCode::TooManyThreads,
            ErrorCode::TooManyTurns,
            ErrorCode::TooManyStreams,
            ErrorCode::QuotaExceeded,
        ])
    }

    /// A route of a thread's object.
    pub fn in_thread(self) -> Self {
        self.refuses(&[ErrorCode::ThreadNotFound, ErrorCode::ObjectTooNew, ErrorCode::VersionsDiffer])
    }

    /// A list that comes in pages.
    pub fn pages(self) -> Self {
        self.query(limit("The most items.")).query(cursor())
    }
}

mod requests_tests;
mod tests;
