//! The wire types: requests of clients, responses, events, stored messages. They have no logic beyond checking a
//! request.

mod agent;
mod audit;
mod bookmark;
mod change;
mod command;
mod conditions;
mod content;
mod cost;
mod dialect;
mod error;
mod event;
mod form;
mod hook;
mod instructions;
mod key;
mod knowledge;
mod media;
mod message;
mod names;
mod owner;
mod part;
mod path;
mod plan;
mod project;
mod queue;
mod record;
mod request;
mod share;
mod tool_result;
mod tree;
mod words;
mod workflow;
mod workspace;

pub use agent::{
    AgentCall, AgentDump, AgentList, AgentMessage, AgentRound, AgentRounds, AgentSummary, DumpBuilder,
    DumpedHook, MAX_DUMP_AGENTS, MAX_DUMP_BYTES, MAX_HOOK_STATE_BYTES, MAX_ROUND_BYTES, MAX_ROUND_MESSAGES,
    MAX_ROUNDS, MainAgent, SentDump,
};
pub use audit::{AuditAction, AuditEntry, AuditPage};
pub use bookmark::{Bookmark, BookmarkList, EXCERPT_CHARS, Excerpt, MAX_BOOKMARKS};
pub use change::{Change, ThreadChange};
pub use command::{ChatCommand, ThreadCommand, ThreadEnvelope, VERSIONS_RETRY_S, Visitor};
pub use content::{
    Content, ContentPart, DataUrl, MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, MAX_CONTENT_CHARS, MAX_PARTS, Medium,
};
#[cfg(feature = "openapi")]
pub use cost::ModelCosts;
pub use cost::{CostSummary, CountedRequest, ModelCost};
pub use dialect::{AnswerForm, Dialect, GivenAnswer, McpGives, McpReply, OpenAi, OpenAiApi};
pub use error::{ApiError, ErrorCode, Problem, Refusal};
pub use event::{
    AgentState, AgentStatus, Awaited, BudgetReason, CallStatus, ChunkKind, Decision, Event, FinishReason,
    Numbered, Place, Seq, TurnLimits,
};
pub use form::{
    Approval, Form, FormQuestion, MAX_FORM_CONTENT, MAX_QUESTION_CHARS, MAX_QUESTION_ID, MAX_QUESTION_SCHEMA,
    MAX_QUESTIONS,
};
pub use hook::{
    HOOK_AGENT, Hook, HookDecision, HookList, HookPoint, HookReach, MAX_HOOK_CALL_BYTES, MAX_HOOK_CALLS,
    MAX_HOOK_INSTRUCTIONS, MAX_HOOK_READS, NewHook, TreeHook, digest_in, digest_text,
};
pub use instructions::{
    ClientInstructions, Instructions, InstructionsOf, MAX_INSTRUCTIONS_BYTES, NewInstructions,
    TreeInstructions,
};
pub use key::{
    KeyList, KeySummary, MAX_KEY_NAME_CHARS, MAX_SCOPES, MintedKey, NewKey, SessionList, SessionSummary,
    SignIn, SignInWay, StartSignIn, StartedSignIn,
};
pub use knowledge::{
    Collection, CollectionList, Document, DocumentList, Memory, MemoryList, NewCollection, Passage,
    PassageList,
};
pub use message::{
    ApprovalList, CancelStatus, Cancelled, FileEntry, FileList, FileVersion, FileVersionList, LeftUndone,
    MessageList, ReachedLimit, Role, SentContent, StandingApproval, StopNote, StoredMessage, Taken,
    ThreadDetail, ThreadList, ThreadState, ThreadSummary, TurnVersion, WorkspaceList,
};
#[cfg(feature = "openapi")]
pub use names::LINE;
pub use names::{AGENT_NAME, MAX_LINE_CHARS, NameRule, WORKFLOW_ID, WORKSPACE_NAME, line};
pub use owner::{ANONYMOUS, FOLDERS, Owner, hex, quota_object_name, r2_key, workspaces_beside};
pub use part::{CUT_MARK, DETAIL_CHARS, MAX_SOURCES, MessagePart, Source};
pub use plan::{ExecutionMode, Plan, PlanReview, PlanStatus, PlanStep, StepStatus, Verdict};
pub use project::{
    DocumentChange, DocumentDetail, DocumentEntry, MAX_PROJECT_DOCUMENT_CHARS, MAX_PROJECT_TEXT_CHARS,
    ProjectChange, ProjectDetail, ProjectEntry, ProjectList, ProjectTask, TaskChange, TaskStatus,
    TemplateEntry, TemplateList, UsageList, UsageRow,
};
pub use queue::{
    IfRunning, MAX_QUEUED, MAX_REMOVED, MessageQueue, QueueChange, QueuedChange, QueuedMessage, QueuedPreview,
};
pub use record::{RecordEntry, RecordList};
pub use request::{
    BrowserContext, CONTINUE, ChatContext, ChatRequest, ClientTool, ContextKind, MAX_JSON_DEPTH,
    MAX_JSON_VALUES, ModeProfile, check_size, read_body,
};
pub use share::{
    CreatedShare, MAX_SHARE_DAYS, MAX_SHARED_BYTES, MAX_SHARES, MAX_SNAPSHOT_BYTES, NewShare, ShareList,
    ShareSummary, SharedConversation, SharedMessage, SharedPart, Shown, Snapshot,
};
pub use tool_result::ToolResult;
pub use tree::{ExecutionTree, PREVIEW_CHARS, TreeModelCall, TreeNode, beginning, preview};
pub use workflow::{
    ContinueSession, MAX_ARTIFACT_CHARS, MAX_ARTIFACTS, MAX_CONTEXT_BYTES, MAX_DEFINITION_BYTES,
    MAX_GOAL_CHARS, MAX_NOTES_CHARS, MAX_STEPS, MAX_WORKFLOWS, MIN_NOTES_CHARS, NewSession, OutputMode,
    SessionAnswer, SessionContext, SessionMode, SessionStatus, SessionStep, StepNotes, StepTitle, StepType,
    Stuck, Threshold, WorkflowDefinition, WorkflowDetail, WorkflowList, WorkflowNotify, WorkflowSession,
    WorkflowStep, WorkflowSummary, WorkflowVerifier, WrittenDefinition, check_workflow_id,
};
pub use workspace::check_workspace;

#[cfg(test)]
mod tests;
