//! The wire types: what clients send, what they read, what is stored. No logic beyond checking a request.

mod command;
mod content;
mod error;
mod event;
mod key;
mod knowledge;
mod message;
mod request;
mod tree;

#[cfg(feature = "openapi")]
pub use command::{MAX_WORKSPACE_NAME, WORKSPACE_NAME};
pub use command::{
    Owner, ThreadCommand, ThreadEnvelope, Visitor, check_workspace, hex, quota_object_name, workspaces_beside,
};
pub use content::{
    Content, ContentPart, DataUrl, MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, MAX_CONTENT_CHARS, Medium,
};
pub use error::{ApiError, ErrorCode, Problem};
pub use event::{
    AgentState, Awaited, BudgetReason, CallStatus, ChunkKind, CostSummary, Decision, Event, FinishReason,
    ModelCost, Numbered, Place, Seq, TurnLimits,
};
pub use key::{KeyList, KeySummary, MAX_KEY_NAME_CHARS, MintedKey, NewKey};
#[cfg(feature = "openapi")]
pub use knowledge::LINE;
pub use knowledge::{
    Collection, CollectionList, Document, DocumentList, MAX_NAME_CHARS, Memory, MemoryList, NewCollection,
    Passage, PassageList, line,
};
pub use message::{
    Cancelled, FileEntry, FileList, MessageList, Role, SentContent, StopNote, StoredMessage, Taken,
    ThreadDetail, ThreadList, ThreadSummary, WorkspaceList,
};
pub use request::{Approval, ChatContext, ChatRequest, ClientTool, ContextKind, ThreadChange, ToolResult};
pub use tree::{ExecutionTree, PREVIEW_CHARS, TreeNode, preview};

#[cfg(test)]
mod tests;
