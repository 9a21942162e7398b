//! The API's description: an OpenAPI 3.1 document, made of the routing table, its comments and the wire's types. It exists
//! in tests alone. What `make openapi` writes of it, `openapi.json` beside this file, is what the Worker serves.
//!
//! A new route has a variant with a comment and a row in `router.rs`, and an arm of [`contract`] here.

mod contract;
mod document;

use serde_json::{Value, json};
use wire::protocol::{
    Approval, ApprovalList, Cancelled, ChatRequest, Collection, CollectionList, Document, DocumentDetail,
    DocumentList, ErrorCode, FileEntry, FileList, KeyList, LINE, MAX_NAME_CHARS, MAX_WORKSPACE_NAME,
    MemoryList, MessageList, MintedKey, NewCollection, NewKey, PassageList, ProjectDetail, ProjectList,
    SentContent, SignIn, Taken, TemplateList, ThreadChange, ThreadDetail, ThreadList, ToolResult, UsageList,
    WORKSPACE_NAME, WorkspaceList,
};

use crate::auth::scope::Scope;
use crate::auth::signed_in::Opened;
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
        Route::Session => open().may_take::<SignIn>().gives::<Opened>(200).refuses(&[
            E::Unauthenticated,
            E::ForbiddenOrigin,
            E::Misconfigured,
        ]),
        Route::SignOut => open()
            .gives_nothing("The cookie is taken back.")
            .refuses(&[E::ForbiddenOrigin, E::UnsupportedMediaType]),
        Route::Chat => needs(Scope::Write).takes::<ChatRequest>().streams().refuses(&[
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
        Route::Models => needs(Scope::Read).gives::<ModelList<'_>>(200),
        Route::Threads => needs(Scope::Read)
            .pages()
            .query(wanted("What titles and messages are searched for; ASCII letters match in either case."))
            .gives::<ThreadList>(200),
        Route::Thread { .. } => thread(Scope::Read).gives::<ThreadDetail>(200),
        Route::RenameThread { .. } => thread(Scope::Write).takes::<ThreadChange>().gives::<ThreadDetail>(200),
        Route::DeleteThread { .. } => thread(Scope::Write).gives_nothing("It is deleted."),
        Route::Messages { .. } => thread(Scope::Read).pages().gives::<MessageList>(200),
        Route::Sent { .. } => thread(Scope::Read).gives::<SentContent>(200).refuses(&[E::MessageNotFound]),
        Route::Stream { .. } => thread(Scope::Read)
            .query(after())
            .header(last_event_id())
            .streams()
            .gives_nothing(
                "There is nothing newer: the thread is idle, or its turn waits for somebody outside.",
            )
            .with_retry_after("Seconds to wait before asking again, where a turn waits for somebody outside.")
            .refuses(&[E::TooManyStreams, E::TurnOnHold]),
        Route::Cancel { .. } => {
            thread(Scope::Write).gives::<Cancelled>(200).refuses(&[E::UnsupportedMediaType])
        }
        Route::ToolResults { .. } => thread(Scope::Write)
            .takes::<ToolResult>()
            .gives::<Taken>(200)
            .refuses(&[E::NotWaiting, E::TurnOnHold]),
        Route::Approval { .. } => thread(Scope::Write)
            .takes::<Approval>()
            .gives::<Taken>(200)
            .refuses(&[E::NotWaiting, E::TurnOnHold]),
        Route::Approvals { .. } => thread(Scope::Read).gives::<ApprovalList>(200),
        Route::WithdrawApproval { .. } => thread(Scope::Write).gives_nothing("It is withdrawn."),
        Route::Files { .. } => thread(Scope::Read).gives::<FileList>(200),
        Route::File { .. } => thread(Scope::Read).gives_file(),
        Route::PutFile { .. } => thread(Scope::Write).takes_file(),
        Route::DeleteFile { .. } => thread(Scope::Write).deletes_file(),
        Route::Templates => needs(Scope::Read).gives::<TemplateList>(200),
        Route::Projects => needs(Scope::Read).gives::<ProjectList>(200),
        Route::Project { .. } => {
            needs(Scope::Read).gives::<ProjectDetail>(200).refuses(&[E::ProjectNotFound])
        }
        Route::ProjectDocument { .. } => {
            needs(Scope::Read).gives::<DocumentDetail>(200).refuses(&[E::ProjectNotFound])
        }
        Route::Usage => needs(Scope::Read).query(days()).gives::<UsageList>(200),
        Route::Workspaces => needs(Scope::Read).gives::<WorkspaceList>(200),
        Route::DeleteWorkspace { .. } => workspace(Scope::Write).gives_nothing("It has no files."),
        Route::WorkspaceFiles { .. } => workspace(Scope::Read).gives::<FileList>(200),
        Route::WorkspaceFile { .. } => workspace(Scope::Read).gives_file(),
        Route::PutWorkspaceFile { .. } => workspace(Scope::Write).takes_file(),
        Route::DeleteWorkspaceFile { .. } => workspace(Scope::Write).deletes_file(),
        Route::Memories => needs(Scope::Read).pages().gives::<MemoryList>(200),
        Route::ForgetMemories => needs(Scope::Write).gives_nothing("They are forgotten."),
        Route::ForgetMemory { .. } => {
            needs(Scope::Write).gives_nothing("It is forgotten.").refuses(&[E::MemoryNotFound])
        }
        Route::Collections => needs(Scope::Read).pages().gives::<CollectionList>(200),
        Route::NewCollection => needs(Scope::Write)
            .takes::<NewCollection>()
            .gives::<Collection>(201)
            .refuses(&[E::CollectionsFull]),
        Route::Collection { .. } => collection(Scope::Read).gives::<Collection>(200),
        Route::DeleteCollection { .. } => collection(Scope::Write).gives_nothing("It is deleted."),
        Route::Documents { .. } => collection(Scope::Read).pages().gives::<DocumentList>(200),
        Route::AddDocument { .. } => collection(Scope::Write)
            .query(document_name())
            // And PDFs, where the deployment has something that reads them.
            .takes_text(&["text/plain", "text/markdown", "text/html"])
            .gives::<Document>(201)
            .refuses(&[E::CollectionsFull, E::QuotaExceeded]),
        Route::DeleteDocument { .. } => {
            collection(Scope::Write).gives_nothing("It is deleted.").refuses(&[E::DocumentNotFound])
        }
        Route::SearchCollection { .. } => collection(Scope::Read)
            .query(wanted("What the documents are searched for, in words.").matching(r"\S").needed())
            .query(limit("How many passages, 20 at most."))
            .gives::<PassageList>(200)
            .refuses(&[E::QuotaExceeded]),
        Route::Keys => needs(Scope::Admin).gives::<KeyList>(200),
        Route::MintKey => needs(Scope::Admin).takes::<NewKey>().gives::<MintedKey>(201),
        Route::RevokeKey { .. } => {
            needs(Scope::Admin).gives_nothing("It is revoked.").refuses(&[E::KeyNotFound])
        }
    }
}

/// What stands in the place of a path's parameter; its name is that of the route's field.
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
        "approval" => Parameter::path(name, "The `approval_id` of the request.", json!({ "type": "string" })),
        "tool" => Parameter::path(name, "The tool's name.", json!({ "type": "string" })),
        "project" => Parameter::path(name, "The project's id.", json!({ "type": "string" })),
        "prefix" => Parameter::path(name, "The key's `prefix`.", json!({ "type": "string" })),
        "path" => {
            let what = "The file's path in the workspace. Its slashes stand as they are, all else is percent-encoded.";
            Parameter::path(name, what, json!({ "type": "string", "minLength": 1, "maxLength": 512 }))
        }
        other => panic!("describe the path's parameter {other} here"),
    }
}

fn thread(scope: Scope) -> Contract {
    needs(scope).refuses(&[ErrorCode::ThreadNotFound, ErrorCode::ObjectTooNew, ErrorCode::VersionsDiffer])
}

fn workspace(scope: Scope) -> Contract {
    needs(scope).refuses(&[ErrorCode::InvalidRequest])
}

fn collection(scope: Scope) -> Contract {
    needs(scope).refuses(&[ErrorCode::CollectionNotFound])
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
    Parameter::new("days", "How many days, today being one of them.", schema)
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

const ABSENT: &str = "`*`: write only where there is no file. Empty is the same as none.";

impl Contract {
    /// A list that comes in pages.
    fn pages(self) -> Self {
        self.query(limit("How many at most."))
            .query(Parameter::text("cursor", "The `next_cursor` of the page before."))
    }

    /// A file of a workspace.
    fn gives_file(self) -> Self {
        self.gives_bytes().with_etag().refuses(&[ErrorCode::InvalidRequest, ErrorCode::FileNotFound])
    }

    /// The same, as it is written.
    fn takes_file(self) -> Self {
        self.header(Parameter::text("If-Match", "Write only over the version with this `ETag`."))
            .header(Parameter::text("If-None-Match", ABSENT).one_of(&["*", ""]))
            .takes_bytes()
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
