//! The durable record of a turn: what happened, in order, so that the turn can be rebuilt from it.
//!
//! This module owns the shapes and their format over time. `turn/` writes them, `storage/` keeps them.

mod agent;
mod answer;
mod cut;
mod end;
mod format;
mod hook;
mod level;
mod life;
mod outcome;
mod past;
mod session;
mod setting;
mod shape;
mod shown;
mod spec;
mod stop;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

use crate::profiles::{Chain, Limits};
use crate::toolbelt::{Charge, ToolPolicy, ToolSpec};
use crate::versions::Versions;
use wire::model::{ModelError, ToolCall, Usage};
use wire::protocol::{Awaited, Content, CountedRequest, Event, HookPoint, Place, Plan, ReachedLimit};

pub use agent::{
    Agent, AgentChange, AgentRow, AgentSetting, MAIN, MAX_AGENTS, MAX_COPIED_BYTES, MAX_HEARD_BYTES,
    MAX_INSTRUCTIONS_BYTES, MAX_TRANSCRIPT_BYTES, People, Round, fault_of_name, todo_key,
};
pub use answer::{Answer, Answering, Asking};
pub use cut::Cut;
pub use end::{CallRecord, FailureRecord, TurnEnd};
pub(crate) use format::NEWEST_READ;
pub use format::{ESTIMATES, FORMAT, LEAST_READER, MARKS, told_result};
pub use hook::HookSaid;
pub use level::LevelSpec;
pub use life::{AgentLife, HookOrigin, HookState, KnownFile, MAX_KNOWN_FILES};
pub use outcome::{ModelOutcome, ToolEnd};
pub(crate) use past::shortened;
pub use past::{History, MAX_SUMMARY_BYTES, Past, PastId, Summary};
pub use session::{REPEATED_CALL, Session, SessionChange, Steered, StepEnd};
pub use setting::{DirectCall, DraftContext, Guards, LocalTime, PlanContext, Setting, Summaries, Work};
pub use shape::AnswerShape;
pub use shown::{KEPT_BYTES, PartChange, Shown};
pub use stop::TurnStop;
pub use text::TextPart;

/// One atomic write: the log stores all of it in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commit {
    pub entries: Vec<Entry>,
    /// Text that clients have received as chunks and that becomes durable now.
    pub texts: Vec<TextPart>,
    /// Events with their keys, unique within the turn. The log skips an event whose key it already has.
    pub events: Vec<(String, Event)>,
    /// Present once, in the turn's last commit.
    pub end: Option<Box<TurnEnd>>,
    /// Present where the commit parks the turn or ends its parking.
    pub parking: Option<Parking>,
}

/// A change between a running and a parked turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parking {
    /// The turn stands still until an answer comes, or this time (milliseconds since 1970).
    Parked { until: u64 },
    /// The turn runs again.
    Over,
}

/// One entry of the journal. Its key, unique within the turn, is [`Entry::key`]. Read leniently, see [`FORMAT`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The level, step and call of this entry; empty for the turn itself.
    pub at: String,
    /// The running time of the turn so far in milliseconds, without outages and parking.
    pub elapsed_ms: u64,
    pub fact: Fact,
}

impl Entry {
    /// The key of the entry.
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

/// The fact that an entry records. Its tag stands outside, since serde buffers the content of an inner tag
/// and raw JSON does not survive that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Entry 0: all that the turn's steps depend on.
    Started(Box<TurnSpec>),
    /// A toolset that child levels refer to by its number, which is the entry's `at`. A journal holds each
    /// toolset once; entry 0 holds the root's, which has the number 0.
    Toolset(Vec<ToolSpec>),
    /// A child level was opened with this specification. The entry's `at` is the level's path.
    Opened(Box<LevelSpec>),
    /// A model call was reserved and is about to be made.
    ModelStarted {
        digest: String,
        #[serde(default)]
        attempt: u32,
        #[serde(default)]
        place: Place,
        /// The reservation: estimated input and greatest output, held until the call has its outcome.
        #[serde(default)]
        held: Usage,
        /// The cut of the level's messages before the call; none where the request begins with the one before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut: Option<Cut>,
        /// The most that the call may cost, in millionths of a US dollar. Absent in a turn without a limit of money and in
        /// one of former code: the call holds the price of `held`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_microusd: Option<u64>,
    },
    /// A request of a model call failed, and another one was reserved and is about to be made. `failed` and
    /// `asked` are places in the chain; `requests` is the number of requests before.
    ModelRetried {
        requests: u32,
        failed: usize,
        error: ModelError,
        asked: usize,
    },
    /// A model call has its outcome.
    ModelEnded {
        digest: String,
        outcome: ModelOutcome,
        #[serde(default)]
        duration_ms: u64,
        #[serde(default)]
        place: Place,
        /// The place in the chain of the model that answered, or of the last one that was asked.
        #[serde(default)]
        asked: usize,
        /// From the call's beginning to the first word of an answer, failed requests included.
        #[serde(default)]
        first_byte_ms: Option<u64>,
    },
    /// The most that a tool call may cost, as its tool said when the call came. The start of the call holds it.
    Priced(Charge),
    /// A tool call was reserved and is about to run: a replay never repeats one that must run once.
    ToolStarted {
        #[serde(default)]
        place: Place,
        #[serde(default)]
        subtask: bool,
    },
    /// A tool call has its result; refusals are results too.
    ToolEnded(ToolEnd),
    /// A hook asks a model for its verdict.
    HookAsked {
        hook: String,
        point: HookPoint,
        place: Place,
    },
    HookSaid(Box<HookSaid>),
    /// The files that a level knows were compared with those that are there, and some have changed, or the comparison failed.
    /// The entry's `at` is the level's next step.
    FilesCompared {
        /// The present versions of those that have changed.
        changed: Versions,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// Hooks let the drafted answer of a level pass, and readers have it. The entry's `at` is its last model call.
    AnswerPassed,
    /// The service answered in a model's place, without asking one.
    Canned {
        digest: String,
        text: String,
    },
    /// The service made these calls in a model's place: the steps of a plan.
    Called {
        place: Place,
        calls: Vec<ToolCall>,
    },
    /// A model call was dropped with the step that it belonged to.
    ModelDropped,
    /// A plan was made or changed.
    Plan(Box<Plan>),
    /// The thread's agents changed, before the end of the call that changes them. The entry's `at` is that call, or the
    /// level for which an agent's rounds were read.
    Agents(Vec<AgentChange>),
    /// The course of a workflow said how the root goes on. The entry's `at` is the root's next step.
    Steered(Box<Steered>),
    /// The turn stops before its natural end; the first stop wins.
    Stopped(TurnStop),
    /// The turn was taken up again after its run was lost.
    Resumed {
        count: u32,
    },
    /// A call waits for a client or a person, from one time to another (milliseconds since 1970). A turn that waits at a
    /// limit names it; its entry's `at` counts such questions. A call that runs and needs input says what it asks.
    Waiting {
        on: Awaited,
        place: Place,
        since: u64,
        until: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<ReachedLimit>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asking: Option<Box<Asking>>,
    },
    /// A tool is about to run again with the answer to its form. This records the intent, as `tool_started` does.
    InputGiven,
    /// The client or the person answered, or the wait expired; the first answer wins.
    Answered {
        on: Awaited,
        answer: Answer,
        at_ms: u64,
        /// Why a person denied the call, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The turn was parked: it needs an answer to go on. Until then its calls and its clocks stand still.
    Parked {
        count: u32,
    },
    /// An answer or a stop ended the parking.
    Unparked {
        count: u32,
    },
    /// A fact that this code cannot read, and the reason. The engine never writes one; it ends a turn that
    /// has one.
    #[serde(skip)]
    Unknown(String),
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
            Fact::Priced(_) => "priced",
            Fact::ToolStarted { .. } => "tool_started",
            Fact::ToolEnded(_) => "tool_ended",
            Fact::HookAsked { .. } => "hook_asked",
            Fact::HookSaid(_) => "hook_said",
            Fact::FilesCompared { .. } => "files_compared",
            Fact::AnswerPassed => "answer_passed",
            Fact::Canned { .. } => "canned",
            Fact::Called { .. } => "called",
            Fact::ModelDropped => "model_dropped",
            Fact::Plan(_) => "plan",
            Fact::Agents(_) => "agents",
            Fact::Steered(_) => "steered",
            Fact::Stopped(_) => "stopped",
            Fact::Resumed { .. } => "resumed",
            Fact::Waiting { .. } => "waiting",
            Fact::InputGiven => "input_given",
            Fact::Answered { .. } => "answered",
            Fact::Parked { .. } => "parked",
            Fact::Unparked { .. } => "unparked",
            Fact::Unknown(_) => "unknown",
        }
    }
}

/// The content of entry 0. It freezes the turn's inputs, so that a deploy or a changed configuration in
/// mid-turn leaves the turn as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TurnSpec {
    /// The format in which the turn's journal was begun.
    #[serde(default = "format::first")]
    pub format: u32,
    /// The oldest format whose readers may go on with the turn.
    #[serde(default = "format::first")]
    pub least_reader: u32,
    /// The rules by which the turn estimates tokens and shortens its requests. 0, of former code: each request is pruned
    /// anew, and a model call holds the price of its estimated tokens. 1: a level cuts its messages and then only adds to
    /// them ([`Cut`]), and a call holds the most that it may cost where money is limited.
    #[serde(default, skip_serializing_if = "is_former")]
    pub estimates: u32,
    /// How texts of agents, hooks and searches are marked where a model reads them. 0, of former code: by a name in front,
    /// which a text can write as well. 1: between marks that no text can write.
    #[serde(default, skip_serializing_if = "is_former")]
    pub marks: u32,
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
    /// The role that the models belong to, or `named` where the request named a model by its id.
    #[serde(default)]
    pub profile: String,
    /// The models of the turn with their prices.
    pub chain: Chain,
    /// The models of subtasks, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask_chain: Option<Chain>,
    #[serde(default)]
    pub limits: Limits,
    /// The policy that the engine checks again at each tool call.
    #[serde(default)]
    pub policy: ToolPolicy,
    /// The root's toolbelt, composed and filtered by the policy.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// The root's system prompt.
    #[serde(default)]
    pub system: String,
    /// The last row of `messages` that belongs to the history before this turn. Rows are append-only, so this
    /// reference freezes the history.
    #[serde(default)]
    pub history_until: i64,
    /// The summary in the place of the oldest turns of that history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The last request of the turn before this one, where money is limited. The first request of this turn begins with its
    /// messages, so it reserves by that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_request: Option<CountedRequest>,
    /// The text that retrieval found for the user's message. It is a message of its own before that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<String>,
    /// The message that the user's message replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_message_id: Option<String>,
    #[serde(default)]
    pub created_at: u64,
}

fn is_former(rules: &u32) -> bool {
    *rules == 0
}
