//! The API's description: an OpenAPI 3.1 document, made of the routing table, its comments and the wire's types. It exists
//! in tests alone. What `make openapi` writes of it, `openapi.json` beside this file, is what the Worker serves.
//!
//! A new route has a variant with a comment and a row in `router.rs`, and an arm of [`contract`] here.

mod contract;
mod document;

use espalier_durable::protocol::{
    Approval, Cancelled, ChatRequest, ErrorCode, FileEntry, FileList, KeyList, MessageList, MintedKey,
    NewKey, SentContent, Taken, ThreadChange, ThreadDetail, ThreadList, ToolResult,
};
use serde_json::{Value, json};

use crate::auth::scope::Scope;
use crate::auth::session::Opened;
use crate::health::Health;
use crate::models::ModelList;
use crate::query::{MAX_LIMIT, MAX_SEQ, MAX_WANTED_CHARS};
use crate::router::Route;
use contract::{Contract, Parameter, needs, open};

/// What a route asks for, takes, gives and refuses. What every route with a credential or a body refuses comes along with
/// [`needs`] and [`Contract::takes`].
fn contract(route: Route<'_>) -> Contract {
    use ErrorCode as E;
    match route {
        Route::Health => open().gives::<Health>(200).gives::<Health>(503),
        Route::OpenApi => open().gives::<Value>(200),
        Route::Session => open().gives::<Opened>(200).refuses(&[
            E::Unauthenticated,
            E::ForbiddenOrigin,
            E::UnsupportedMediaType,
            E::Misconfigured,
        ]),
        Route::Chat => needs(Scope::Write).takes::<ChatRequest>().streams().refuses(&[
            E::ThreadNotFound,
            E::MessageNotFound,
            E::TurnInProgress,
            E::StaleRequestSeq,
            E::TooManyThreads,
            E::TooManyTurns,
            E::QuotaExceeded,
        ]),
        Route::Models => needs(Scope::Read).gives::<ModelList<'_>>(200),
        Route::Threads => needs(Scope::Read).pages().query(wanted()).gives::<ThreadList>(200),
        Route::Thread { .. } => thread(Scope::Read).gives::<ThreadDetail>(200),
        Route::RenameThread { .. } => thread(Scope::Write).takes::<ThreadChange>().gives::<ThreadDetail>(200),
        Route::DeleteThread { .. } => thread(Scope::Write).gives_nothing("It is deleted."),
        Route::Messages { .. } => thread(Scope::Read).pages().gives::<MessageList>(200),
        Route::Sent { .. } => thread(Scope::Read).gives::<SentContent>(200).refuses(&[E::MessageNotFound]),
        Route::Stream { .. } => thread(Scope::Read)
            .query(after())
            .header(last_event_id())
            .streams()
            .gives_nothing("The thread is idle and has nothing newer."),
        Route::Cancel { .. } => {
            thread(Scope::Write).gives::<Cancelled>(200).refuses(&[E::UnsupportedMediaType])
        }
        Route::ToolResults { .. } => {
            thread(Scope::Write).takes::<ToolResult>().gives::<Taken>(200).refuses(&[E::NotWaiting])
        }
        Route::Approval { .. } => {
            thread(Scope::Write).takes::<Approval>().gives::<Taken>(200).refuses(&[E::NotWaiting])
        }
        Route::Files { .. } => thread(Scope::Read).gives::<FileList>(200),
        Route::File { .. } => file(Scope::Read).gives_bytes().with_etag().refuses(&[E::FileNotFound]),
        Route::PutFile { .. } => file(Scope::Write)
            .header(Parameter::text("If-Match", "Write only over the version with this `ETag`."))
            .header(
                Parameter::text("If-None-Match", "`*`: write only where there is no file.").one_of(&["*"]),
            )
            .takes_bytes()
            .gives::<FileEntry>(200)
            .with_etag()
            .refuses(&[E::PreconditionFailed, E::WorkspaceFull]),
        Route::DeleteFile { .. } => {
            file(Scope::Write).gives_nothing("It is deleted.").refuses(&[E::FileNotFound])
        }
        Route::Keys => needs(Scope::Admin).gives::<KeyList>(200),
        Route::MintKey => needs(Scope::Admin).takes::<NewKey>().gives::<MintedKey>(201),
        Route::RevokeKey { .. } => {
            needs(Scope::Admin).gives_nothing("It is revoked.").refuses(&[E::KeyNotFound])
        }
    }
}

/// What stands in the place of a path's parameter; its name is that of the route's field.
fn path_parameter(name: &str) -> Parameter {
    match name {
        "id" => Parameter::path(name, "The thread's id.", json!({ "type": "string", "format": "uuid" })),
        "message" => {
            Parameter::path(name, "The message's id.", json!({ "type": "string", "format": "uuid" }))
        }
        "approval" => Parameter::path(name, "The `approval_id` of the request.", json!({ "type": "string" })),
        "prefix" => Parameter::path(name, "The key's `prefix`.", json!({ "type": "string" })),
        "path" => {
            let what = "The file's path in the workspace. Its slashes stand as they are, all else is percent-encoded.";
            Parameter::path(name, what, json!({ "type": "string", "minLength": 1, "maxLength": 512 }))
        }
        other => panic!("describe the path's parameter {other} here"),
    }
}

fn thread(scope: Scope) -> Contract {
    needs(scope).refuses(&[ErrorCode::ThreadNotFound])
}

fn file(scope: Scope) -> Contract {
    thread(scope).refuses(&[ErrorCode::InvalidRequest])
}

fn wanted() -> Parameter {
    let schema = json!({ "type": "string", "maxLength": MAX_WANTED_CHARS });
    let what = "What titles and messages are searched for; ASCII letters match in either case.";
    Parameter::new("q", what, schema)
}

fn after() -> Parameter {
    Parameter::new("after", "The number of the last event that is known.", event_number())
}

fn last_event_id() -> Parameter {
    Parameter::new("Last-Event-ID", "The same, as browsers send it. It wins over `after`.", event_number())
}

fn event_number() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": MAX_SEQ })
}

impl Contract {
    /// A list that comes in pages.
    fn pages(self) -> Self {
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 50 });
        self.query(Parameter::new("limit", "How many at most.", limit))
            .query(Parameter::text("cursor", "The `next_cursor` of the page before."))
    }
}

mod tests;
