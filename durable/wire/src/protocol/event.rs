//! The events of a thread's log, as clients read them over SSE.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Plan, PlanStatus, StepStatus, StoredMessage, Verdict};
use crate::model::Usage;

/// The thread-wide number of an event. Grows, may skip, is never reused.
pub type Seq = u64;

/// An event with its number and its turn: one `data:` object of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Numbered {
    /// Repeated in the `id:` line.
    pub seq: Seq,
    /// The turn that caused the event.
    pub turn_id: String,
    /// The event itself; its tag is the member `type`.
    #[serde(flatten)]
    pub event: Event,
}

/// Where in the execution tree something happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Place {
    /// The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
    pub parent_id: Option<String>,
    /// 0 at the root.
    pub depth: u32,
}

/// One event of the log. Facts are committed before they are announced; chunks are announced at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The turn exists; the first event of each turn.
    Session {
        thread_id: String,
        user_message_id: String,
        assistant_message_id: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
        /// What the turn may use. Turns that began under an earlier version do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<TurnLimits>,
        /// The message that this turn takes the place of, with all that came after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces_message_id: Option<String>,
        /// `truncated`: the turn's events are not kept any more, and this one event stands for all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumed: Option<String>,
        /// The turn's messages, where its events are not kept any more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<StoredMessage>,
    },
    /// What the agent is doing now; told when it changes.
    AgentState {
        state: AgentState,
        context_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    /// The border of a model call: it closes the parts that the call opened.
    ModelCallUpdate {
        model_call_id: String,
        status: CallStatus,
        model: String,
        #[serde(flatten)]
        place: Place,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
    },
    /// A piece of streamed text.
    Chunk {
        content: String,
        part_id: String,
        model_call_id: String,
        #[serde(flatten)]
        place: Place,
        /// True on the last chunk of a part, which may be empty.
        #[serde(default, skip_serializing_if = "is_false")]
        done: bool,
        #[serde(default, skip_serializing_if = "ChunkKind::is_text")]
        kind: ChunkKind,
    },
    /// A tool call starts or ends: exactly one of each per call, refusals included.
    ToolCallUpdate {
        tool_call_id: String,
        name: String,
        status: CallStatus,
        /// At the start: the turn's running time when the call started, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, ts(type = "Record<string, unknown> | null"))]
        args: Option<serde_json::Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// At the end of a `run_subtask`: what its model calls used, those of the subtasks within it included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<ModelCost>,
        /// At the start of a call that the client is to carry out, and until when it may (milliseconds since 1970).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        awaits: Option<Awaited>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<u64>,
        #[serde(flatten)]
        place: Place,
    },
    /// A call that the model wants to make waits until a person allows it. It has not started.
    ApprovalRequest {
        approval_id: String,
        tool_call_id: String,
        name: String,
        #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
        args: serde_json::Value,
        /// What kind of tool it is, such as `network`.
        permission_class: String,
        expires_at: u64,
        #[serde(flatten)]
        place: Place,
    },
    /// What was said to that.
    ApprovalResolved {
        approval_id: String,
        tool_call_id: String,
        decision: Decision,
        #[serde(flatten)]
        place: Place,
    },
    /// The model call was cut off and is made again: its parts are void.
    ModelCallReset {
        model_call_id: String,
        #[serde(flatten)]
        place: Place,
        reason: String,
    },
    /// A plan was made.
    PlanCreated { tool_call_id: String, plan: Box<Plan> },
    /// It waits for the user's word, which is their next message.
    PlanReadyForReview { plan: Box<Plan> },
    /// A reviewer has spoken.
    PlanReview { plan_id: String, verdict: Verdict, notes: String },
    /// The steps of a plan begin.
    ExecutorStart { plan_id: String, steps: u32 },
    /// A step begins; what happens in it has its call as its parent.
    StepStart { plan_id: String, step_id: String, index: usize, title: String, tool_call_id: String },
    /// A step has its end. `result` is a preview.
    StepComplete { plan_id: String, step_id: String, index: usize, status: StepStatus, result: String },
    /// No step runs any more; those that did not run were skipped.
    ExecutorComplete { plan_id: String, status: PlanStatus, completed: u32, failed: u32, skipped: u32 },
    /// The same of a swarm, which has words of its own: its plan, step by step, and what came of it all.
    #[serde(rename = "swarmPlanReady")]
    SwarmPlanReady { steps: Vec<String> },
    #[serde(rename = "swarmStepStarted", rename_all = "camelCase")]
    SwarmStepStarted { step_index: usize, description: String },
    #[serde(rename = "swarmToolExecuted", rename_all = "camelCase")]
    SwarmToolExecuted { step_index: usize, tool: String, brief_result: String },
    #[serde(rename = "swarmStepCompleted", rename_all = "camelCase")]
    SwarmStepCompleted { step_index: usize, result: String, status: StepStatus },
    #[serde(rename = "swarmComplete")]
    SwarmComplete { result: String },
    /// A limit of the turn would have been crossed.
    BudgetExceeded {
        reason: BudgetReason,
        limit: u64,
        /// What was attempted, so one more than the limit for everything that is counted.
        observed: u64,
    },
    /// What the turn cost; once per turn, before `done`.
    CostSummary(CostSummary),
    /// Why the turn did not end by itself, with advice.
    Error { code: String, message: String, retryable: bool },
    /// The last event of a turn.
    Done {
        message_id: String,
        finish_reason: FinishReason,
        /// What `cost_summary` said; absent in events of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<CostSummary>,
    },
}

impl Event {
    /// The wire's name of this kind of event, as in the member `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Session { .. } => "session",
            Event::AgentState { .. } => "agent_state",
            Event::ModelCallUpdate { .. } => "model_call_update",
            Event::Chunk { .. } => "chunk",
            Event::ToolCallUpdate { .. } => "tool_call_update",
            Event::ApprovalRequest { .. } => "approval_request",
            Event::ApprovalResolved { .. } => "approval_resolved",
            Event::ModelCallReset { .. } => "model_call_reset",
            Event::PlanCreated { .. } => "plan_created",
            Event::PlanReadyForReview { .. } => "plan_ready_for_review",
            Event::PlanReview { .. } => "plan_review",
            Event::ExecutorStart { .. } => "executor_start",
            Event::StepStart { .. } => "step_start",
            Event::StepComplete { .. } => "step_complete",
            Event::ExecutorComplete { .. } => "executor_complete",
            Event::SwarmPlanReady { .. } => "swarmPlanReady",
            Event::SwarmStepStarted { .. } => "swarmStepStarted",
            Event::SwarmToolExecuted { .. } => "swarmToolExecuted",
            Event::SwarmStepCompleted { .. } => "swarmStepCompleted",
            Event::SwarmComplete { .. } => "swarmComplete",
            Event::BudgetExceeded { .. } => "budget_exceeded",
            Event::CostSummary(_) => "cost_summary",
            Event::Error { .. } => "error",
            Event::Done { .. } => "done",
        }
    }
}

/// The limits of a turn that a client can watch being used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TurnLimits {
    pub subtasks: u32,
    pub llm_calls: u32,
    pub tool_calls: u32,
    /// Running time, in milliseconds.
    pub wall_clock_ms: u64,
}

/// The three states that a client shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// A model is called or tools run.
    Thinking,
    /// A plan's steps run.
    ExecutingPlan,
    /// The turn is parked until a person answers, or has ended with something that is theirs to decide.
    WaitingOnUser,
}

/// Whom a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// The client that carries it out.
    Client,
    /// A person who allows it.
    Approval,
}

impl Awaited {
    /// The wire's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Awaited::Client => "client",
            Awaited::Approval => "approval",
        }
    }
}

/// What became of a request for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    ApproveForThread,
    Deny,
    /// Nobody answered in time; never given by a client.
    Expired,
}

/// The two borders of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The call is about to be made.
    Start,
    /// The call has its result.
    End,
}

/// What a chunk's text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    /// Part of the answer.
    #[default]
    Text,
    /// The model's reasoning, which is not part of the answer.
    Reasoning,
}

impl ChunkKind {
    fn is_text(&self) -> bool {
        *self == ChunkKind::Text
    }
}

/// The limits whose crossing ends a turn. Depth, iterations and fan-out are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetReason {
    /// `run_subtask` calls over the whole tree.
    Subtasks,
    /// Model calls over the whole tree.
    LlmCalls,
    /// Tool calls over the whole tree.
    ToolCalls,
    /// Milliseconds that the turn was running.
    WallClock,
    /// Tokens over the whole tree.
    Tokens,
    /// Bytes of tool results.
    Bytes,
    /// Millionths of a US dollar of model calls; only where a deployment limits them.
    Cost,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The model's answer hit its length limit.
    Length,
    /// The provider refused or filtered.
    ContentFilter,
    /// A person, or a newer request, stopped the turn.
    Cancelled,
    /// A limit of the turn was reached.
    Budget,
    /// A provider or the service failed.
    Error,
    /// The service lost the turn and could not bring it to its end.
    Interrupted,
}

/// The ledger of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CostSummary {
    pub llm_calls: u32,
    pub tool_calls: u32,
    pub subtasks: u32,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Null where the price of a model that was used is unknown.
    pub cost_usd: Option<f64>,
    pub by_model: BTreeMap<String, ModelCost>,
}

/// A share of a turn's ledger: one model's, or one subtask's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelCost {
    pub llm_calls: u32,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: Option<f64>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}
