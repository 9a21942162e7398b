//! The API's description: an OpenAPI 3.1 document, made of the routing table, its comments and the wire's types. Only
//! the tests build it. `make openapi` writes it to `openapi.json` beside this file, and the Worker serves that file.
//!
//! A new route has a row with a comment in `router/table.rs`, and an arm of [`contract`] here.

mod contract;
mod document;

use serde_json::{Value, json};
use wire::protocol::{
    ApprovalList, Cancelled, Collection, CollectionList, Document, DocumentDetail, DocumentList, ErrorCode,
    FileEntry, FileList, KeyList, LINE, MAX_NAME_CHARS, MAX_WORKSPACE_NAME, MemoryList, MessageList,
    MintedKey, PassageList, ProjectDetail, ProjectList, SentContent, Taken, TemplateList, ThreadDetail,
    ThreadList, UsageList, WORKSPACE_NAME, WorkspaceList,
};

use crate::auth::signed_in::Opened;
use crate::health::Health;
use crate::models::ModelList;
use crate::query::{MAX_LIMIT, MAX_SEQ, MAX_WANTED_CHARS};
use crate::router::Route;
use contract::{Contract, Parameter};

/// Adds the answers and the refusals of a route to the contract of its row (`Contract::of`). Longer than a function should
/// be, because it has one arm for each route.
fn contract(route: Route<'_>, row: Contract) -> Contract {
    use ErrorCode as E;
    match route {
        Route::Health => row.gives::<Health>(200).gives::<Health>(503),
        Route::OpenApi => row.gives::<Value>(200),
        Route::Session => {
            row.gives::<Opened>(200).refuses(&[E::Unauthenticated, E::Misconfigured, E::IssuerUnavailable])
        }
        Route::SignOut => row.gives_nothing("The browser deletes the cookie."),
        Route::Chat => row.streams().refuses(&[
            E::ThreadNotFound,
            E::MessageNotFound,
            E::CollectionNotFound,
            E::TurnOnHold,
            E::ObjectTooNew,
            E::VersionsDiffer,
            E::TurnInProgress,
            E::StaleRequestSeq,
            E::TooManyThreads,
            E::TooManyTurns,
            E::TooManyStreams,
            E::QuotaExceeded,
        ]),
        Route::Models => row.gives::<ModelList<'_>>(200),
        Route::Threads => row
            .pages()
            .query(wanted("The text to search titles and messages for; ASCII letters match in either case."))
            .gives::<ThreadList>(200),
        Route::Thread { .. } => row.in_thread().gives::<ThreadDetail>(200),
        Route::RenameThread { .. } => row.in_thread().gives::<ThreadDetail>(200),
        Route::DeleteThread { .. } => row.in_thread().gives_nothing("It is deleted."),
        Route::Messages { .. } => row.in_thread().pages().gives::<MessageList>(200),
        Route::Sent { .. } => row.in_thread().gives::<SentContent>(200).refuses(&[E::MessageNotFound]),
        Route::Stream { .. } => row
            .in_thread()
            .query(after())
            .header(last_event_id())
            .streams()
            .gives_nothing(
                "There is nothing newer: the thread is idle, or its turn waits for somebody outside.",
            )
            .with_retry_after("Seconds to wait before asking again, where a turn waits for somebody outside.")
            .refuses(&[E::TooManyStreams, E::TurnOnHold]),
        Route::Cancel { .. } => row.in_thread().gives::<Cancelled>(200),
        Route::ToolResults { .. } => {
            row.in_thread().gives::<Taken>(200).refuses(&[E::NotWaiting, E::TurnOnHold])
        }
        Route::Approval { .. } => {
            row.in_thread().gives::<Taken>(200).refuses(&[E::NotWaiting, E::TurnOnHold])
        }
        Route::Approvals { .. } => row.in_thread().gives::<ApprovalList>(200),
        Route::WithdrawApproval { .. } => row.in_thread().gives_nothing("It is withdrawn."),
        // feature: files
        Route::Files { .. } => row.in_thread().gives::<FileList>(200),
        Route::File { .. } => row.in_thread().gives_file(),
        Route::PutFile { .. } => row.in_thread().writes_file(),
        Route::DeleteFile { .. } => row.in_thread().deletes_file(),
        // end
        // feature: projects
        Route::Templates => row.gives::<TemplateList>(200),
        Route::Projects => row.gives::<ProjectList>(200),
        Route::Project { .. } => row.gives::<ProjectDetail>(200).refuses(&[E::ProjectNotFound]),
        Route::ProjectDocument { .. } => row.gives::<DocumentDetail>(200).refuses(&[E::ProjectNotFound]),
        // end
        Route::Usage => row.query(days()).gives::<UsageList>(200),
        // feature: files
        Route::Workspaces => row.gives::<WorkspaceList>(200),
        Route::DeleteWorkspace { .. } => row.in_workspace().gives_nothing("It has no files."),
        Route::WorkspaceFiles { .. } => row.in_workspace().gives::<FileList>(200),
        Route::WorkspaceFile { .. } => row.in_workspace().gives_file(),
        Route::PutWorkspaceFile { .. } => row.in_workspace().writes_file(),
        Route::DeleteWorkspaceFile { .. } => row.in_workspace().deletes_file(),
        // end
        // feature: knowledge
        Route::Memories => row.pages().gives::<MemoryList>(200),
        Route::ForgetMemories => row.gives_nothing("They are forgotten."),
        Route::ForgetMemory { .. } => row.gives_nothing("It is forgotten.").refuses(&[E::MemoryNotFound]),
        Route::Collections => row.pages().gives::<CollectionList>(200),
        Route::NewCollection => row.gives::<Collection>(201).refuses(&[E::CollectionsFull]),
        Route::Collection { .. } => row.in_collection().gives::<Collection>(200),
        Route::DeleteCollection { .. } => row.in_collection().gives_nothing("It is deleted."),
        Route::Documents { .. } => row.in_collection().pages().gives::<DocumentList>(200),
        Route::AddDocument { .. } => row
            .in_collection()
            .query(document_name())
            .gives::<Document>(201)
            .refuses(&[E::CollectionsFull, E::QuotaExceeded]),
        Route::DeleteDocument { .. } => {
            row.in_collection().gives_nothing("It is deleted.").refuses(&[E::DocumentNotFound])
        }
        Route::SearchCollection { .. } => row
            .in_collection()
            .query(wanted("The words to search the documents for.").matching(r"\S").needed())
            .query(limit("The most passages, up to 20."))
            .gives::<PassageList>(200)
            .refuses(&[E::QuotaExceeded]),
        // end
        Route::Keys => row.gives::<KeyList>(200),
        Route::MintKey => row.gives::<MintedKey>(201),
        Route::RevokeKey { .. } => row.gives_nothing("It is revoked.").refuses(&[E::KeyNotFound]),
    }
}

/// A parameter of a path, by the name that the table gives it.
fn path_parameter(name: &str) -> Parameter {
    let id = |what: &str| Parameter::path(name, what, json!({ "type": "string", "format": "uuid" }));
    match name {
        "id" => id("The thread's id."),
        "message" => id("The message's id."),
        "memory" => id("The memory's id."),
        "collection" => id("The collection's id."),
        // A collection's, which is a UUID, or a project's.
        "document" => Parameter::path(name, "The document's id.", json!({ "type": "string" })),
        "workspace" => {
            let schema =
                json!({ "type": "string", "maxLength": MAX_WORKSPACE_NAME, "pattern": WORKSPACE_NAME });
            Parameter::path(name, "The workspace's name.", schema)
        }
        "approval" => Parameter::path(
            name,
            "The `approval_id` of the request; to withdraw an approval, its tool.",
            json!({ "type": "string" }),
        ),
        "project" => Parameter::path(name, "The project's id.", json!({ "type": "string" })),
        "prefix" => Parameter::path(name, "The key's `prefix`.", json!({ "type": "string" })),
        "path" => {
            let what = "The file's path in the workspace, percent-encoded but for its slashes.";
            Parameter::path(name, what, json!({ "type": "string", "minLength": 1, "maxLength": 512 }))
        }
        other => panic!("describe the path's parameter {other} here"),
    }
}

fn wanted(what: &str) -> Parameter {
    Parameter::new("q", what, json!({ "type": "string", "maxLength": MAX_WANTED_CHARS }))
}

fn document_name() -> Parameter {
    let schema = json!({ "type": "string", "maxLength": MAX_NAME_CHARS, "pattern": LINE });
    Parameter::new("name", "The document's name.", schema).needed()
}

fn limit(what: &str) -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 50 });
    Parameter::new("limit", what, schema)
}

fn days() -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 90, "default": 30 });
    Parameter::new("days", "The number of days, including today.", schema)
}

fn after() -> Parameter {
    Parameter::new("after", "The number of the last event that the client has.", event_number())
}

fn last_event_id() -> Parameter {
    Parameter::new("Last-Event-ID", "The same, as browsers send it. It wins over `after`.", event_number())
}

fn event_number() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": MAX_SEQ })
}

const ABSENT: &str = "`*`: write only where there is no file. Empty is the same as none.";

impl Contract {
    /// A route of a thread's object.
    fn in_thread(self) -> Self {
        self.refuses(&[ErrorCode::ThreadNotFound, ErrorCode::ObjectTooNew, ErrorCode::VersionsDiffer])
    }

    /// A route of a named workspace.
    fn in_workspace(self) -> Self {
        self.refuses(&[ErrorCode::InvalidRequest])
    }

    /// A route of a collection.
    fn in_collection(self) -> Self {
        self.refuses(&[ErrorCode::CollectionNotFound])
    }

    /// A list that comes in pages.
    fn pages(self) -> Self {
        self.query(limit("The most items."))
            .query(Parameter::text("cursor", "The `next_cursor` of the page before."))
    }

    /// A file of a workspace.
    fn gives_file(self) -> Self {
        self.gives_bytes().with_etag().refuses(&[ErrorCode::InvalidRequest, ErrorCode::FileNotFound])
    }

    /// The same, as it is written.
    fn writes_file(self) -> Self {
        self.header(Parameter::text("If-Match", "Write only over the version with this `ETag`."))
            .header(Parameter::text("If-None-Match", ABSENT).one_of(&["*", ""]))
            .gives::<FileEntry>(200)
            .with_etag()
            .refuses(&[
                ErrorCode::InvalidRequest,
                ErrorCode::PreconditionFailed,
                ErrorCode::WorkspaceFull,
                ErrorCode::QuotaExceeded,
            ])
    }

    fn deletes_file(self) -> Self {
        self.gives_nothing("It is deleted.").refuses(&[ErrorCode::InvalidRequest, ErrorCode::FileNotFound])
    }
}

mod tests;
