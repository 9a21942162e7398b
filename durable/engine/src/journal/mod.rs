//! The durable record of a turn: what happened, in order, so that the turn can be rebuilt from it.
//!
//! Owns the shapes and their format over time. `turn/` writes them, `storage/` keeps them.

mod end;
mod format;
mod level;
mod setting;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::memory::Overlay;
use crate::profiles::{Chain, Limits, Role};
use crate::toolbelt::{ToolPolicy, ToolSpec};
use crate::versions::Versions;
use wire::model::{ModelError, ModelReply, ToolCall, Usage};
use wire::protocol::{Awaited, BudgetReason, ChunkKind, Content, Event, Place, Plan, Seq};

pub use end::{CallRecord, Failure, TurnEnd};
pub use format::{FORMAT, LEAST_READER, told_result};
pub use level::LevelSpec;
pub use setting::{Setting, Work};

/// What is written together, in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commit {
    pub entries: Vec<Entry>,
    /// Text that was announced as chunks and becomes durable now.
    pub texts: Vec<TextPart>,
    /// Events with their keys, unique within the turn: a key that is there already is not written or announced again.
    pub events: Vec<(String, Event)>,
    /// Present once, in the turn's last commit.
    pub end: Option<Box<TurnEnd>>,
    /// Present where the turn is parked, or goes on after that.
    pub parking: Option<Parking>,
}

/// Whether a turn runs at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parking {
    /// Nothing runs until an answer comes, or this time (milliseconds since 1970).
    Parked { until: u64 },
    /// It runs again.
    Over,
}

/// One row of the journal. Its key, unique within the turn, is [`Entry::key`]. Read leniently, see [`FORMAT`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Which level, step and call this is about; empty for the turn itself.
    pub at: String,
    /// How long the turn had been running, in milliseconds, outages and parking excepted.
    pub elapsed_ms: u64,
    pub fact: Fact,
}

impl Entry {
    /// The key of the row.
    pub fn key(&self) -> String {
        match &self.fact {
            Fact::ModelStarted { attempt, .. } => format!("{}:{}:{attempt}", self.fact.kind(), self.at),
            Fact::ModelRetried { requests, .. } => format!("{}:{}:{requests}", self.fact.kind(), self.at),
            Fact::Resumed { count, .. } | Fact::Parked { count } | Fact::Unparked { count } => {
                format!("{}:{count}", self.fact.kind())
            }
            Fact::Waiting { on, .. } | Fact::Answered { on, .. } => {
                format!("{}:{}:{}", self.fact.kind(), self.at, on.as_str())
            }
            Fact::Plan(plan) => format!("{}:{}:{}", self.fact.kind(), self.at, plan.revision),
            _ => format!("{}:{}", self.fact.kind(), self.at),
        }
    }
}

/// What happened. Tagged from outside, since raw JSON within does not survive serde's buffering of inner tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Entry 0: all that the turn's steps depend on.
    Started(Box<TurnSpec>),
    /// A toolset that child levels refer to by its number, which is the entry's `at`. Each stands in a journal once; the
    /// root's has the number 0 and stands in entry 0.
    Toolset(Vec<ToolSpec>),
    /// A child level was opened with this. The entry's `at` is the level's path.
    Opened(Box<LevelSpec>),
    /// A model call was reserved and is about to be made.
    ModelStarted {
        digest: String,
        #[serde(default)]
        attempt: u32,
        #[serde(default)]
        place: Place,
        /// Estimated input and greatest output, held until the call has its outcome.
        #[serde(default)]
        held: Usage,
    },
    /// A request of a model call came to nothing, and another one was reserved and is about to be made. `failed` and
    /// `asked` are places in the chain; `requests` is how many there were before.
    ModelRetried { requests: u32, failed: usize, error: ModelError, asked: usize },
    /// A model call has its outcome.
    ModelEnded {
        digest: String,
        outcome: ModelOutcome,
        #[serde(default)]
        duration_ms: u64,
        #[serde(default)]
        place: Place,
        /// The place in the chain of the model that answered, or that was asked last.
        #[serde(default)]
        asked: usize,
        /// From the call's beginning to the first byte of an answer, failed requests included.
        #[serde(default)]
        first_byte_ms: Option<u64>,
    },
    /// A tool call was reserved and is about to run: the intent of a call that may not be repeated.
    ToolStarted {
        #[serde(default)]
        place: Place,
        #[serde(default)]
        subtask: bool,
    },
    /// A tool call has its result; refusals are results too.
    ToolEnded(ToolEnd),
    /// The service answered in a model's place, without asking one.
    Canned { digest: String, text: String },
    /// The service made these calls in a model's place: the steps of a plan.
    Called { place: Place, calls: Vec<ToolCall> },
    /// A model call was dropped with the step that it belonged to.
    ModelDropped,
    /// A plan was made, or changed.
    Plan(Box<Plan>),
    /// The turn stops before its natural end; the first one wins.
    Stopped(TurnStop),
    /// The turn was taken up again after its run was lost.
    Resumed { count: u32 },
    /// A call waits for somebody outside, from one time to another (milliseconds since 1970).
    Waiting { on: Awaited, place: Place, since: u64, until: u64 },
    /// What they said, or that the time is over; the first answer wins.
    Answered { on: Awaited, answer: Answer, at_ms: u64 },
    /// Nothing can go on without an answer: from here on nothing runs and no clock counts.
    Parked { count: u32 },
    /// An answer or a stop ended the parking.
    Unparked { count: u32 },
    /// A fact that this code cannot read, and why. It is never written: a turn that has one ends.
    #[serde(skip)]
    Unknown(String),
}

/// What somebody outside says to a call that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The client's tool has run.
    Result {
        content: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A person allows the call, this once or whenever the thread makes it again.
    Approve,
    ApproveForThread,
    Deny,
    /// Nobody answered in time.
    Expired,
}

impl Fact {
    /// The row's kind, which is the tag of its JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Fact::Started(_) => "started",
            Fact::Toolset(_) => "toolset",
            Fact::Opened(_) => "opened",
            Fact::ModelStarted { .. } => "model_started",
            Fact::ModelRetried { .. } => "model_retried",
            Fact::ModelEnded { .. } => "model_ended",
            Fact::ToolStarted { .. } => "tool_started",
            Fact::ToolEnded(_) => "tool_ended",
            Fact::Canned { .. } => "canned",
            Fact::Called { .. } => "called",
            Fact::ModelDropped => "model_dropped",
            Fact::Plan(_) => "plan",
            Fact::Stopped(_) => "stopped",
            Fact::Resumed { .. } => "resumed",
            Fact::Waiting { .. } => "waiting",
            Fact::Answered { .. } => "answered",
            Fact::Parked { .. } => "parked",
            Fact::Unparked { .. } => "unparked",
            Fact::Unknown(_) => "unknown",
        }
    }
}

/// What a model call came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelOutcome {
    Replied(Box<ModelReply>),
    /// What was said before the failure is kept.
    Failed {
        error: ModelError,
        said: String,
    },
}

/// What a tool call came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolEnd {
    /// What the model reads.
    pub content: String,
    #[serde(default)]
    pub is_error: bool,
    /// A step of a plan that ran out of time or model calls: this is what it had by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// What the call (or the whole subtask) wrote to memory; merged when its round settles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overlay: Overlay,
    /// What the call learnt of files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: Versions,
    #[serde(default)]
    pub duration_ms: u64,
}

/// What entry 0 freezes. A deploy or a changed configuration in mid-turn changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TurnSpec {
    /// The format in which the turn's journal was begun.
    #[serde(default = "format::first")]
    pub format: u32,
    /// The oldest format whose readers may go on with the turn.
    #[serde(default = "format::first")]
    pub least_reader: u32,
    pub thread_id: String,
    pub turn_id: String,
    pub user_message_id: String,
    pub assistant_message_id: String,
    /// The user's message.
    pub content: Content,
    /// `thread`, `editor` …
    #[serde(default)]
    pub context_type: String,
    #[serde(default)]
    pub setting: Setting,
    /// Whose models they are: a role, or `named` where the request named one by its id.
    #[serde(default)]
    pub profile: String,
    /// The models that are asked, with what they cost.
    pub chain: Chain,
    /// Those that subtasks ask, where they are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask_chain: Option<Chain>,
    #[serde(default)]
    pub limits: Limits,
    /// What holds again whenever a tool is called.
    #[serde(default)]
    pub policy: ToolPolicy,
    /// The root's toolbelt, already composed and filtered by policy.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// The root's system prompt.
    #[serde(default)]
    pub system: String,
    /// The messages of the thread before this turn are those up to this row of `messages`: rows are append-only, so
    /// a reference freezes them.
    #[serde(default)]
    pub history_until: i64,
    /// What was found for the user's message, as the model gets it: a message of its own before that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<String>,
    /// The message whose place the user's message takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_message_id: Option<String>,
    #[serde(default)]
    pub created_at: u64,
}

impl TurnSpec {
    /// Why this code must not go on with the turn; none where it may.
    pub fn unreadable(&self) -> Option<String> {
        let needed = self.least_reader;
        (needed > FORMAT).then(|| format!("its journal needs format {needed}, this version reads {FORMAT}"))
    }

    /// The models of a role as this turn froze them; the turn's own where it froze no others.
    pub fn chain_of(&self, models: Option<Role>) -> &Chain {
        let other = match models {
            None => None,
            Some(Role::Subagent) => self.subtask_chain.as_ref(),
            Some(Role::Quality) => self.setting.reviewers.as_ref(),
            Some(role) => self.setting.routed.get(&role),
        };
        other.unwrap_or(&self.chain)
    }

    /// The name of those models in the telemetry.
    pub fn profile_of(&self, models: Option<Role>) -> &str {
        match models {
            Some(Role::Quality) => Role::Quality.as_str(),
            Some(Role::Subagent) if self.subtask_chain.is_some() => Role::Subagent.as_str(),
            Some(role) if self.setting.routed.contains_key(&role) => role.as_str(),
            _ => &self.profile,
        }
    }

    /// The `operation_type` of a level's model calls.
    pub fn operation_for(&self, work: Work) -> &str {
        match work {
            Work::Root => &self.setting.operation,
            Work::Subtask => "subtask",
            Work::Plan => "plan_generation",
            Work::Review => "plan_review",
            Work::Step => "plan_step",
            Work::Route => "route",
        }
    }

    /// Whether the user has said nothing (B-062).
    pub fn is_blank(&self) -> bool {
        self.content.is_blank()
    }
}

/// Why a turn stops before its natural end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum TurnStop {
    /// A limit would have been crossed; `observed` is what was attempted.
    Budget { reason: BudgetReason, limit: u64, observed: u64 },
    /// The root level made all the iterations that it may.
    IterationLimit { limit: u32 },
    /// A person cancelled.
    Cancelled,
    /// A newer request took the thread.
    Superseded,
    /// The root's model call failed.
    Model { error: ModelError },
    /// The run was lost and could not be taken up.
    Interrupted { detail: String },
    /// The service failed.
    Internal { detail: String },
}

/// Streamed text of one part, from which the very same chunks can be read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    pub part_id: String,
    pub model_call_id: String,
    pub kind: ChunkKind,
    #[serde(flatten)]
    pub place: Place,
    /// Each chunk's number and its length in bytes of `text`, in order.
    pub chunks: Vec<(Seq, u32)>,
    pub text: String,
    /// The part goes on in another row, so its last chunk is not among these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}
