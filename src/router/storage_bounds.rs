//! The bounds of the storage that routes write. Each route stands here: the matches have no wildcard, so a new route without a
//! bound does not compile, and the tests compare the bounds with the refusals that the description promises.

use engine::hooks::MAX_HOOKS_BYTES;
use platform::queueing::MAX_QUEUE_EVENTS;
use platform::storage::path::MAX_CHOICES;
use wire::protocol::{ErrorCode, MAX_PROJECT_DOCUMENT_CHARS, MAX_PROJECT_TEXT_CHARS};

use super::table::{
    FilesRoute, InstructionsRoute, KnowledgeRoute, ProjectsRoute, RecordsRoute, Route, SharesRoute,
    WorkflowsRoute,
};
use super::{Method, TABLE};
use crate::account::store::MAX_ENDED;
use crate::audit::statements::MAX_A_DAY;
use crate::openapi;

/// The bound of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// It reads: it leaves no row behind.
    Reads,
    /// The quotas of turns: how many start, run at once, and cost in a day. A conversation that a client brings reserves its
    /// bytes in `stored_bytes_per_day` with its turn.
    Turns,
    /// The quota `stored_bytes_per_day`, in which it reserves all that it stores.
    Uploads,
    /// So many, of these.
    Count(u64, &'static str),
    /// It takes the place of what is there, which is no larger than so many bytes.
    Replaces(usize),
    /// It answers a call of a turn, or ends the turn: once.
    EndsOnce,
    /// It deletes. Where something was there it leaves an entry in the audit log, else nothing.
    Deletes,
    /// Each of its tools is a request to another route.
    OtherRoutes,
}

// Long: an arm for each route.
fn bound(route: Route<'_>) -> Bound {
    use Bound as B;
    match route {
        Route::Health
        | Route::OpenApi
        | Route::AiSdkStream { .. }
        | Route::OpenAiModels
        | Route::Response { .. }
        | Route::ProtectedResource
        | Route::ProtectedMcp
        | Route::Models
        | Route::Threads
        | Route::Thread { .. }
        | Route::Messages { .. }
        | Route::Sent { .. }
        | Route::Stream { .. }
        | Route::Approvals { .. }
        | Route::Hooks { .. }
        | Route::Queue { .. }
        | Route::Agents { .. }
        | Route::AgentRounds { .. }
        | Route::DumpAgent { .. }
        | Route::Erasure
        | Route::Sessions
        | Route::Usage
        | Route::Audit
        | Route::Keys => B::Reads,
        Route::Session | Route::EndOfSignIn { .. } => {
            B::Count(MAX_A_DAY.into(), "sign-ins of a user in a day; their newest sessions stay")
        }
        // The browser keeps it in a cookie.
        Route::StartSignIn { .. } => B::Reads,
        Route::SignOut => {
            B::Count(MAX_ENDED.into(), "sessions of visitors without a row that a network ends in an hour")
        }
        Route::Chat | Route::AiSdkChat | Route::ChatCompletion | Route::CreateResponse => B::Turns,
        Route::AiSdkCancel { .. } | Route::CancelResponse { .. } | Route::Cancel { .. } => B::EndsOnce,
        Route::Mcp => B::OtherRoutes,
        // A title replaces the one before, and pins have a number.
        Route::ChangeThread { .. } => B::Count(MAX_CHOICES, "choices of a path after a turn"),
        Route::DeleteThread { .. } => B::Deletes,
        Route::ToolResults { .. } | Route::Approval { .. } => B::EndsOnce,
        Route::WithdrawApproval { .. } | Route::DeleteHook { .. } => B::Deletes,
        Route::PutHook { .. } => B::Replaces(MAX_HOOKS_BYTES),
        Route::HoldQueue { .. } | Route::EditQueued { .. } | Route::RemoveQueued { .. } => {
            B::Count(MAX_QUEUE_EVENTS, "events of a turn that tell its queue")
        }
        Route::RestoreAgent { .. } => B::Uploads,
        Route::EndAgent { .. } => B::Deletes,
        Route::EraseMe => B::Count(MAX_ENDED.into(), "visitors of a network in an hour; one job of a user"),
        Route::Export => B::Count(MAX_A_DAY.into(), "entries of exports of a user in a day"),
        Route::EndOtherSessions | Route::EndSignIn { .. } => B::Deletes,
        Route::MintKey => B::Count(MAX_A_DAY.into(), "keys that an admin makes in a day"),
        Route::RevokeKey { .. } => B::Deletes,
        Route::Files(route) => files_bound(route),
        Route::Projects(route) => projects_bound(route),
        Route::Instructions(route) => instructions_bound(route),
        Route::Records(RecordsRoute::Record { .. } | RecordsRoute::Records { .. }) => B::Reads,
        Route::Shares(route) => shares_bound(route),
        Route::Knowledge(route) => knowledge_bound(route),
        Route::Workflows(route) => workflows_bound(route),
    }
}

fn files_bound(route: FilesRoute<'_>) -> Bound {
    use FilesRoute as R;
    match route {
        R::Files { .. }
        | R::File { .. }
        | R::FileVersions { .. }
        | R::Workspaces
        | R::WorkspaceFiles { .. }
        | R::WorkspaceFile { .. }
        | R::WorkspaceFileVersions { .. } => Bound::Reads,
        R::PutFile { .. } | R::PutWorkspaceFile { .. } => Bound::Uploads,
        R::DeleteFile { .. } | R::DeleteWorkspace { .. } | R::DeleteWorkspaceFile { .. } => Bound::Deletes,
    }
}

fn projects_bound(route: ProjectsRoute<'_>) -> Bound {
    use ProjectsRoute as R;
    match route {
        R::Templates | R::Projects | R::Project { .. } | R::ProjectDocument { .. } => Bound::Reads,
        R::ChangeProject { .. } | R::ChangeTask { .. } => Bound::Replaces(4 * MAX_PROJECT_TEXT_CHARS),
        R::ChangeProjectDocument { .. } => Bound::Replaces(4 * MAX_PROJECT_DOCUMENT_CHARS),
        R::DeleteProject { .. } | R::DeleteTask { .. } | R::DeleteProjectDocument { .. } => Bound::Deletes,
    }
}

fn instructions_bound(route: InstructionsRoute<'_>) -> Bound {
    use InstructionsRoute as R;
    match route {
        R::Instructions | R::ProjectInstructions { .. } => Bound::Reads,
        R::PutInstructions | R::PutProjectInstructions { .. } => Bound::Uploads,
    }
}

fn shares_bound(route: SharesRoute<'_>) -> Bound {
    use SharesRoute as R;
    match route {
        R::Share { .. } => Bound::Uploads,
        R::Shares | R::Shared { .. } | R::SharedPage { .. } => Bound::Reads,
        R::RevokeShare { .. } => Bound::Deletes,
    }
}

fn knowledge_bound(route: KnowledgeRoute<'_>) -> Bound {
    use KnowledgeRoute as R;
    match route {
        R::Memories
        | R::Collections
        | R::Collection { .. }
        | R::Documents { .. }
        | R::SearchCollection { .. } => Bound::Reads,
        R::NewCollection | R::AddDocument { .. } => Bound::Uploads,
        R::ForgetMemories
        | R::ForgetMemory { .. }
        | R::DeleteCollection { .. }
        | R::DeleteDocument { .. } => Bound::Deletes,
    }
}

fn workflows_bound(route: WorkflowsRoute<'_>) -> Bound {
    use WorkflowsRoute as R;
    match route {
        R::Workflows | R::Workflow { .. } => Bound::Reads,
        R::PutWorkflow { .. } => Bound::Uploads,
        // Its start counts as that of a turn, and it has a row for each of its steps.
        R::StartSession { .. } => Bound::Turns,
        R::ContinueSession { .. } | R::EndSession { .. } => Bound::EndsOnce,
        R::DeleteWorkflow { .. } => Bound::Deletes,
    }
}

// Issue 42, M1
#[test]
fn each_route_that_writes_has_a_bound() {
    // Begun by a GET: an identity provider sends the browser back, and an export leaves an entry in the log.
    let getting = ["EndOfSignIn", "Export"];
    // Without a row: the browser has it in a cookie.
    let leaving_nothing = ["StartSignIn"];
    for row in TABLE {
        let bound = bound(row.sample());
        let writes = match row.method {
            Method::Get => getting.contains(&row.name),
            Method::Post | Method::Patch | Method::Put | Method::Delete => {
                !leaving_nothing.contains(&row.name)
            }
        };
        assert_eq!(bound != Bound::Reads, writes, "{}: {bound:?}", row.name);
        match bound {
            Bound::Count(most, of) => assert!(most > 0 && !of.is_empty(), "{}", row.name),
            Bound::Replaces(bytes) => assert!(bytes > 0 && bytes <= 1_000_000, "{}", row.name),
            Bound::Deletes => assert_eq!(row.method, Method::Delete, "{}", row.name),
            Bound::Reads | Bound::Turns | Bound::Uploads | Bound::EndsOnce | Bound::OtherRoutes => {}
        }
    }
}

// A quota that refuses nobody bounds nothing: the description of the route has its refusal.
#[test]
fn each_quota_has_its_refusal() {
    for row in TABLE.iter().filter(|row| matches!(bound(row.sample()), Bound::Uploads | Bound::Turns)) {
        assert!(openapi::may_refuse(row, ErrorCode::QuotaExceeded), "{}", row.name);
    }
}
