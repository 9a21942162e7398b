//! The API's description: an OpenAPI 3.1 document, made of the routing table, its comments and the wire's types. Only
//! the tests build it. `make openapi` writes it to `web/public/openapi.json`, which the Worker serves from its assets.
//!
//! A new route has a row with a comment in `router/table.rs`, and an arm of [`contract`] here.

mod contract;
mod document;
mod files;
mod instructions;
mod knowledge;
mod projects;
mod records;
mod shares;
mod workflows;

use dialects::ai_sdk::MAX_CHAT_ID;
use serde_json::{Map, Value, json};
use wire::protocol::{
    AGENT_NAME, AgentDump, AgentList, AgentRounds, ApprovalList, AuditPage, Cancelled, ErrorCode, HOOK_AGENT,
    Hook, HookList, KeyList, MessageList, MessageQueue, MintedKey, SentContent, SessionList, StartedSignIn,
    Taken, ThreadDetail, ThreadList, UsageList, WORKFLOW_ID, WORKSPACE_NAME,
};

use crate::account::erasure::Erasure;
use crate::auth::signed_in::Opened;
use crate::health::Health;
use crate::models::ModelList;
use crate::query::{MAX_LIMIT, MAX_SEQ, MAX_WANTED_CHARS};
use crate::router::{Route, Row};
use contract::{Content, Contract, Parameter};

/// Adds the answers and the refusals of a route to the contract of its row (`Contract::of`). The routes of a feature have
/// their arms in the feature's file.
// Long: an arm for each route.
fn contract(route: Route<'_>, row: Contract) -> Contract {
    use ErrorCode as E;
    match route {
        Route::Health => row.gives::<Health>(200).gives::<Health>(503),
        Route::OpenApi => row.gives::<Map<String, Value>>(200),
        Route::Session => row
            .takes(json!({ "key": "espk_0123456789ab_0123456789abcdef" }))
            .gives::<Opened>(200)
            .refuses(&[E::Unauthenticated, E::Misconfigured, E::IssuerUnavailable]),
        Route::StartSignIn { .. } => row
            .takes(json!({ "return_to": "/" }))
            .gives::<StartedSignIn>(200)
            .refuses(&[E::RouteNotFound, E::Misconfigured, E::IssuerUnavailable]),
        Route::EndOfSignIn { .. } => row
            .query(Parameter::new("state", "As the provider got it.", json!({ "type": "string" })))
            .query(Parameter::new("code", "The provider's code.", json!({ "type": "string" })))
            .query(Parameter::new("error", "Why there is no code.", json!({ "type": "string" })))
            .query(Parameter::new("iss", "The provider (RFC 9207).", json!({ "type": "string" })))
            .answers(303, "The browser goes on at the page.", None)
            .refuses(&[E::RouteNotFound, E::Misconfigured]),
        Route::SignOut => row.gives_nothing("The browser deletes the cookie."),
        Route::Chat => row
            .takes(json!({ "content": "What is 17 * 23?" }))
            .streams()
            .gives::<MessageQueue>(202)
            .refuses_turns()
            .refuses(&[
                E::MessageNotFound,
                E::AgentNotFound,
                E::WorkflowNotFound,
                E::WorkflowRunning,
                E::StaleRequestSeq,
                E::QueueFull,
                E::MessageRemoved,
            ]),
        Route::AiSdkChat => row
            .takes(json!({
                "id": "a-chat",
                "messages": [
                    { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "What is 17 * 23?" }] },
                ],
            }))
            .streams_in_a_dialect()
            .refuses_turns()
            .refuses(&[E::NotWaiting]),
        Route::AiSdkStream { .. } => row
            .in_thread()
            .streams_in_a_dialect()
            .gives_nothing("No turn runs.")
            .refuses(&[E::TooManyStreams, E::TurnOnHold]),
        Route::AiSdkCancel { .. } => row.in_thread().gives::<Cancelled>(200),
        Route::OpenAiModels => row.gives::<Map<String, Value>>(200),
        Route::ChatCompletion => row
            .takes(json!({
                "model": "espalier", "messages": [{ "role": "user", "content": "What is 17 * 23?" }], "stream": true,
            }))
            .answers_of_openai(),
        Route::CreateResponse => {
            row.takes(json!({ "model": "espalier", "input": "What is 17 * 23?" })).answers_of_openai()
        }
        Route::Response { .. } => row
            .in_thread()
            .query(Parameter::new("stream", "`true`: the events.", json!({ "type": "string", "enum": ["true", "false", ""] })))
            .query(Parameter::new("starting_after", "The number of the last event that the client has.", event_number()))
            .answers_in_a_dialect()
            .refuses(&[E::MessageNotFound, E::TooManyStreams, E::TurnOnHold]),
        Route::CancelResponse { .. } => row
            .in_thread()
            .gives::<Map<String, Value>>(200)
            .refuses(&[E::MessageNotFound, E::TooManyStreams, E::TurnOnHold]),
        Route::Mcp => row
            .takes(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }))
            .answers(200, "The response, or its events as they come.", Some(Content::ForeignJson))
            .answers(202, "A notification was taken.", None)
            .refuses(&[E::RouteNotFound]),
        Route::ProtectedResource | Route::ProtectedMcp => {
            row.gives::<Map<String, Value>>(200).refuses(&[E::RouteNotFound])
        }
        Route::Models => row.gives::<ModelList<'_>>(200),
        Route::Threads => row
            .pages()
            .query(wanted("The text to search titles and messages for; ASCII letters match in either case."))
            .gives::<ThreadList>(200),
        Route::Thread { .. } => row.in_thread().gives::<ThreadDetail>(200),
        Route::ChangeThread { .. } => row
            .in_thread()
            .takes(json!({ "title": "Multiplication" }))
            .gives::<ThreadDetail>(200)
            .refuses(&[E::TurnInProgress, E::TooManyPins]),
        Route::DeleteThread { .. } => row.in_thread().gives_nothing("It is deleted."),
        Route::Messages { .. } => row.in_thread().pages().query(versions()).gives::<MessageList>(200),
        Route::Sent { .. } => row.in_thread().gives::<SentContent>(200).refuses(&[E::MessageNotFound]),
        Route::Stream { .. } => row
            .in_thread()
            .query(after())
            .header(last_event_id())
            .streams()
            .gives_nothing(
                "There is nothing newer: the thread is idle, or its turn waits for somebody outside or has yet to start.",
            )
            .with_header(204, "Retry-After", retry_after())
            .refuses(&[E::TooManyStreams, E::TurnOnHold]),
        Route::Cancel { .. } => row.in_thread().gives::<Cancelled>(200),
        Route::ToolResults { .. } => {
            row.takes(json!({ "tool_call_id": "call_a596e3befdf038de_0.0", "result": "Opened." })).answers_a_call()
        }
        Route::Approval { .. } => row.takes(json!({ "decision": "approve" })).answers_a_call(),
        Route::Approvals { .. } => row.in_thread().gives::<ApprovalList>(200),
        Route::WithdrawApproval { .. } => row.in_thread().gives_nothing("It is withdrawn."),
        Route::Hooks { .. } => row.in_thread().gives::<HookList>(200),
        Route::PutHook { .. } => row
            .in_thread()
            .takes(json!({ "builtin": "loop_guard", "options": { "times": 3 } }))
            .gives::<Hook>(200)
            .refuses(&[E::InvalidRequest, E::TooManyHooks]),
        Route::DeleteHook { .. } => row.in_thread().gives_nothing("It is gone.").refuses(&[E::InvalidRequest]),
        Route::Queue { .. } => row.in_thread().gives::<MessageQueue>(200),
        Route::HoldQueue { .. } => {
            row.in_thread().takes(json!({ "held": true })).gives::<MessageQueue>(200)
        }
        Route::EditQueued { .. } => row
            .in_thread()
            .takes(json!({ "content": "What is 17 * 24?" }))
            .gives::<MessageQueue>(200)
            .refuses(&[E::QueuedMessageNotFound, E::MessageBegun]),
        Route::RemoveQueued { .. } => row
            .in_thread()
            .gives_nothing("It is out of the queue.")
            .refuses(&[E::QueuedMessageNotFound, E::MessageBegun]),
        Route::Agents { .. } => row.in_thread().gives::<AgentList>(200),
        Route::RestoreAgent { .. } => row
            .in_thread()
            .takes(json!({ "name": "critic", "instructions": "Find the weakest argument." }))
            .query(restored_as())
            .gives::<AgentList>(200)
            .refuses(&[E::AgentExists, E::TooManyHooks, E::TurnInProgress, E::QuotaExceeded]),
        Route::AgentRounds { .. } => {
            row.in_thread().query(cursor()).gives::<AgentRounds>(200).refuses(&[E::AgentNotFound])
        }
        Route::DumpAgent { .. } => row.in_thread().gives::<AgentDump>(200).refuses(&[E::AgentNotFound, E::InvalidRequest]),
        Route::EndAgent { .. } => {
            row.in_thread().gives_nothing("It has ended.").refuses(&[E::AgentNotFound, E::TurnInProgress])
        }
        Route::EraseMe => {
            row.takes(json!({ "confirm": "erase" })).gives::<Erasure>(202).refuses(&[E::ErasureInProgress, E::SignInAgain])
        }
        Route::Erasure => row.query(receipt()).gives::<Erasure>(200).refuses(&[E::ErasureNotFound]),
        Route::Export => row
            .query(cursor())
            .answers(200, "The lines, the last of which tells where the next page begins.", Some(Content::Lines)),
        Route::Sessions => row.gives::<SessionList>(200),
        Route::EndOtherSessions => row.gives_nothing("They have ended."),
        Route::EndSignIn { .. } => row.gives_nothing("It has ended.").refuses(&[E::SessionNotFound]),
        Route::Usage => row.query(days()).gives::<UsageList>(200),
        Route::Audit => row.pages().gives::<AuditPage>(200),
        Route::Keys => row.gives::<KeyList>(200),
        Route::MintKey => {
            row.takes(json!({ "name": "Ada's laptop", "scopes": ["read", "write"] })).gives::<MintedKey>(201)
        }
        Route::RevokeKey { .. } => row.gives_nothing("It is revoked.").refuses(&[E::KeyNotFound]),
        Route::Files(route) => files::contract(route, row),
        Route::Projects(route) => projects::contract(route, row),
        Route::Instructions(route) => instructions::contract(route, row),
        Route::Records(route) => records::contract(route, row),
        Route::Shares(route) => shares::contract(route, row),
        Route::Knowledge(route) => knowledge::contract(route, row),
        Route::Workflows(route) => workflows::contract(route, row),
    }
}

/// Whether a route may refuse with a code.
pub fn may_refuse(row: &Row, code: ErrorCode) -> bool {
    contract(row.sample(), Contract::of(row)).may_refuse(code)
}

/// An id of the examples.
const ID: &str = "8e13dae3-8b2b-85e9-b5cf-a30994b94875";

/// A parameter of a path, by the name that the table gives it.
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
        "message" => id("The message's id."),
        "chat" => {
            let schema = json!({ "type": "string", "minLength": 1, "maxLength": MAX_CHAT_ID });
            Parameter::path(name, "The client's own id of the chat.", schema).such_as(json!("a-chat"))
        }
        "response" => {
            let schema = json!({ "type": "string", "pattern": "^resp_[0-9a-f]{64}[0-9]{1,9}$" });
            let example = json!(format!("resp_{}0", "0123456789abcdef".repeat(4)));
            Parameter::path(name, "The response's id.", schema).such_as(example)
        }
        "turn" => id("The turn's id."),
        "memory" => id("The memory's id."),
        "collection" => id("The collection's id."),
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
        "session" => id("The session's id."),
        "project" => text("The project's id.", ID),
        "task" => text("The task's id.", ID),
        "prefix" => text("The key's `prefix`.", "0123456789ab"),
        "path" => {
            let what = "The file's path in the workspace, percent-encoded but for its slashes.";
            let schema = json!({ "type": "string", "minLength": 1, "maxLength": 512 });
            Parameter::path(name, what, schema).such_as(json!("notes.md"))
        }
        other => panic!("describe the path's parameter {other} here"),
    }
}

fn wanted(what: &str) -> Parameter {
    Parameter::new("q", what, json!({ "type": "string", "maxLength": MAX_WANTED_CHARS }))
        .such_as(json!("hello"))
}

fn limit(what: &str) -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 50 });
    Parameter::new("limit", what, schema).such_as(json!(20))
}

fn cursor() -> Parameter {
    Parameter::text("cursor", "The `next_cursor` of the page before.")
}

fn restored_as() -> Parameter {
    let pattern = AGENT_NAME.whole_pattern().replace('^', "^(").replace('$', ")?$");
    let schema = json!({ "type": "string", "pattern": pattern });
    let what =
        "The name of the restored agent, in place of the dump's `name`. The agents below it keep theirs.";
    Parameter::new("as", what, schema).such_as(json!("critic-2"))
}

fn receipt() -> Parameter {
    let schema = json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{32}$" });
    Parameter::new("receipt", "The `receipt` of the answer to `DELETE /api/me`.", schema)
        .such_as(json!("0123456789abcdef".repeat(2)))
        .needed()
}

fn versions() -> Parameter {
    let schema = json!({ "type": "string", "enum": ["all", ""] });
    let what = "`all`: the messages beside the path as well. Empty is the same as none.";
    Parameter::new("versions", what, schema).such_as(json!("all"))
}

fn days() -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 90, "default": 30 });
    Parameter::new("days", "The number of days, including today.", schema).such_as(json!(7))
}

fn after() -> Parameter {
    Parameter::new("after", "The number of the last event that the client has.", event_number())
        .such_as(json!(2))
}

fn last_event_id() -> Parameter {
    Parameter::new("Last-Event-ID", "The same, as browsers send it. It wins over `after`.", event_number())
}

fn retry_after() -> Value {
    let why =
        "Seconds to wait before asking again, where a turn waits for somebody outside, or for its start.";
    json!({ "description": why, "schema": { "type": "integer" } })
}

fn event_number() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": MAX_SEQ })
}

impl Contract {
    /// The refusals of a route that starts a turn.
    fn refuses_turns(self) -> Self {
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
    fn in_thread(self) -> Self {
        self.refuses(&[ErrorCode::ThreadNotFound, ErrorCode::ObjectTooNew, ErrorCode::VersionsDiffer])
    }

    /// An answer to a call that waits for somebody outside.
    fn answers_a_call(self) -> Self {
        self.in_thread().gives::<Taken>(200).refuses(&[ErrorCode::NotWaiting, ErrorCode::TurnOnHold])
    }

    /// A turn for OpenAI's clients.
    fn answers_of_openai(self) -> Self {
        self.answers_in_a_dialect().refuses_turns().refuses(&[
            ErrorCode::NotWaiting,
            ErrorCode::MessageNotFound,
            ErrorCode::IdempotencyKeyReused,
        ])
    }

    /// A list that comes in pages.
    fn pages(self) -> Self {
        self.query(limit("The most items.")).query(cursor())
    }
}

mod requests_tests;
mod tests;
