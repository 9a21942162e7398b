//! Threads and messages as clients read them.

use serde::{Deserialize, Serialize};

use super::{BudgetReason, Content, CostSummary, ExecutionTree, FinishReason, MessagePart, WorkflowSession};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person or the API client.
    User,
    /// The agent.
    Assistant,
}

impl Role {
    /// The word for it, on the wire and in D1.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// A message of a thread. The optional members stand on assistant messages only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StoredMessage {
    pub id: String,
    pub turn_id: String,
    pub role: Role,
    pub content: String,
    pub created_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopNote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<CostSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_tree: Option<ExecutionTree>,
    /// The answer as a reader saw it: text, reasoning and tool calls in order of appearance, those within calls included.
    /// `content` has the text of the answer alone. An answer whose only part would be this text has no parts, as have
    /// messages stored by earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MessagePart>,
}

/// The answer to a cancel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Cancelled {
    pub status: CancelStatus,
    /// The turn that was stopped; null when the thread was idle.
    pub turn_id: Option<String>,
}

/// The outcome of a cancel: the thread is idle now, whether or not a turn ran before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelStatus {
    #[default]
    Ok,
}

/// The response to a client that answers a waiting call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Taken {
    /// False if somebody answered the call before.
    pub taken: bool,
}

/// The tools that a person allowed for the whole thread, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ApprovalList {
    pub approvals: Vec<StandingApproval>,
}

/// A tool that runs in this thread without asking a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StandingApproval {
    /// The tool's name.
    pub name: String,
}

/// Why the service stopped a turn, for a person to read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StopNote {
    /// The `code` of the turn's `error` event.
    pub code: String,
    pub message: String,
    /// The limit that ended the turn. Turns that a limit ended in an earlier version of the service have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ReachedLimit>,
    /// The work that the limit left undone, in the order in which the turn took it up; at most 20 pieces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftUndone>,
}

impl StopNote {
    /// A note without a limit.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        StopNote { code: code.into(), message: message.into(), ..StopNote::default() }
    }

    /// Whether a limit ended the turn, so that a request may continue it.
    pub fn is_limit(&self) -> bool {
        ["budget_exceeded", "iteration_limit"].contains(&self.code.as_str())
    }
}

/// A limit that a turn reached, in the words of the event `budget_exceeded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ReachedLimit {
    pub reason: BudgetReason,
    pub limit: u64,
    pub observed: u64,
}

/// A piece of work that a limit kept a turn from finishing: a tool call, a subtask, a step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LeftUndone {
    /// The name of the tool; absent for a step of a plan that had not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The label of a subtask or a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it had begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
}

/// A page of a thread's messages, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MessageList {
    pub messages: Vec<StoredMessage>,
    pub next_cursor: Option<String>,
    /// The versions of the turns on this page that have several, in their order. Absent where no turn has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<TurnVersion>>"))]
    pub versions: Vec<TurnVersion>,
}

/// A turn beside others that follow the same turn. One of them is on the path, unless the path ends before them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TurnVersion {
    pub turn_id: String,
    /// The turn that it follows; null where it begins the conversation.
    pub parent_turn_id: Option<String>,
    /// The oldest version with the same message. Versions that have it in common are answers to one message.
    pub question_of: String,
    /// Whether its messages are part of the conversation.
    pub on_path: bool,
}

/// A user's message in its original form, with its images and files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SentContent {
    pub content: Content,
}

/// A thread as the list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ThreadSummary {
    pub id: String,
    pub title: String,
    pub created_at: u64,
    pub updated_at: u64,
    /// When the user pinned it. Absent elsewhere than in lists, and in the answer to the pin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_at: Option<u64>,
    /// The state of the newest turn; absent where it is over. A list hears of a turn that runs after some seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ThreadState>,
    /// In the response to a search: an excerpt of the message that matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// The state of a turn without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    Running,
    /// For a person, or for the client that runs a tool.
    Waiting,
}

/// A page of a user's threads: the pinned ones, then the others, each newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ThreadList {
    pub threads: Vec<ThreadSummary>,
    pub next_cursor: Option<String>,
}

/// A file of a thread's workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FileEntry {
    pub path: String,
    pub bytes: u64,
    pub updated_at: u64,
    /// The version for `If-Match`. It changes with the contents.
    pub version: String,
}

/// An earlier content of a file: a write replaced it, or a deletion removed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FileVersion {
    /// For the parameter `version` of the file's route.
    pub id: String,
    pub path: String,
    pub bytes: u64,
    /// When this content was written, in milliseconds since 1970.
    pub written_at: u64,
    /// When it was replaced or deleted, in milliseconds since 1970.
    pub replaced_at: u64,
    /// The id of the tool call that wrote it, or `upload`; null where the service does not know.
    pub written_by: Option<String>,
}

/// The earlier contents of a workspace's files, the last replaced one first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FileVersionList {
    pub versions: Vec<FileVersion>,
}

/// The files of a workspace, in the order of their paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FileList {
    pub files: Vec<FileEntry>,
}

/// The user's named workspaces that contain files, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkspaceList {
    pub workspaces: Vec<String>,
}

/// A thread with the state of its object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ThreadDetail {
    #[serde(flatten)]
    pub summary: ThreadSummary,
    /// The turn with which the conversation ends.
    pub current_turn_id: Option<String>,
    /// The number of the newest event.
    pub last_seq: u64,
    /// Null when the thread is idle.
    pub running_turn_id: Option<String>,
    /// The number of the running turn's first event; null when the thread is idle. A client reads the turn alone if it
    /// streams after this number minus 1.
    pub running_turn_first_seq: Option<u64>,
    /// How long that turn has been running, in milliseconds, without its waits for somebody outside; null when the thread
    /// is idle.
    pub running_ms: Option<u64>,
    /// How many messages wait for their turn.
    pub queued: u32,
    /// The newest session of a workflow in this thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub workflow_session: Option<WorkflowSession>,
}
