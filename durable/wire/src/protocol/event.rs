//! The events of a thread's log, as clients read them over SSE.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod agent;
mod awaited;
mod budget;
mod chunk;
mod read;

pub use agent::{AgentState, AgentStatus};
pub use awaited::{Awaited, Decision};
pub use budget::{BudgetReason, TurnLimits};
pub use chunk::ChunkKind;

use super::{
    CostSummary, Form, HookDecision, HookPoint, LeftUndone, ModelCost, Plan, PlanStatus, QueuedPreview,
    SessionStatus, Source, StepStatus, StoredMessage, Verdict,
};
use crate::model::Usage;
use crate::tagged::Tagged;

/// The number of an event in its thread. Numbers grow, may skip, and stay unique.
pub type Seq = u64;

/// An event with its number and its turn: one `data:` object of the stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// The position of an event in the execution tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Place {
    /// The `tool_call_id` of the nearest enclosing `run_subtask`, or null at the root.
    pub parent_id: Option<String>,
    /// 0 at the root.
    pub depth: u32,
}

crate::tagged! {
    /// One event of the log. The service commits facts before it sends them, and sends chunks at once.
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(test, derive(ts_rs::TS))]
    #[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
    pub enum Event by "type" {
        /// The turn exists; the first event of each turn.
        "session" => Session {
            thread_id: String,
            user_message_id: String,
            assistant_message_id: String,
            #[serde(default, skip_serializing_if = "String::is_empty")]
            provider: String,
            #[serde(default, skip_serializing_if = "String::is_empty")]
            model: String,
            /// The limits of the turn. Turns from earlier versions of the service have none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            limits: Option<TurnLimits>,
            /// A message of the turn beside which this turn stands. The conversation goes on from the turn before that one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            replaces_message_id: Option<String>,
            /// The client's own names for those of its tools whose names are shortened here, by the shortened name.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            client_names: BTreeMap<String, String>,
            /// `truncated`: the service has deleted the turn's events, and this event stands for all of them.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            resumed: Option<String>,
            /// The turn's messages, if the service has deleted its events.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            messages: Vec<StoredMessage>,
        },
        /// The state of the agent, sent whenever it changes.
        "agent_state" => AgentState {
            state: AgentState,
            context_type: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            details: Option<String>,
        },
        /// The start or the end of a model call. The end closes the parts that the call opened.
        "model_call_update" => ModelCallUpdate {
            model_call_id: String,
            status: CallStatus,
            model: String,
            /// The agent that asks the model; absent for `main` and for levels that are no agents.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            agent: Option<String>,
            ..place: Place { parent_id, depth },
            /// The turn's running time when the call started, in milliseconds. The end of a call that was repeated tells the
            /// start of the repetition.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            started_ms: Option<u64>,
            /// At the end: the time from the start to the first word of the answer, and to the end, in milliseconds.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            first_byte_ms: Option<u64>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            duration_ms: Option<u64>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            usage: Option<Usage>,
            /// At the end, if the usage and the price are known.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            cost_usd: Option<f64>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            finish_reason: Option<String>,
        },
        /// A piece of streamed text.
        "chunk" => Chunk {
            content: String,
            part_id: String,
            model_call_id: String,
            ..place: Place { parent_id, depth },
            /// True on the last chunk of a part, which may be empty.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            done: bool,
            #[serde(default, skip_serializing_if = "ChunkKind::is_text")]
            kind: ChunkKind,
        },
        /// A tool call starts or ends: each call has exactly one of both, refused calls included.
        "tool_call_update" => ToolCallUpdate {
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
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            is_error: bool,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            duration_ms: Option<u64>,
            /// At the end of a `run_subtask`: the usage of its model calls, including those of its own subtasks.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            usage: Option<ModelCost>,
            /// At the end of a call that needed a person's permission.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            decision: Option<Decision>,
            /// At the end of a call that costs money beside the turn's models: its cost, absent if that is unknown.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            cost_usd: Option<f64>,
            /// At the end: the documents that the result comes from, each once; at most 20.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            sources: Vec<Source>,
            /// At the start of a call that the client carries out. `expires_at` is its deadline (milliseconds since 1970).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            awaits: Option<Awaited>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            expires_at: Option<u64>,
            ..place: Place { parent_id, depth },
        },
        /// A call waits until a person allows it, and has not started. With a `form`: a call that runs waits for input.
        "approval_request" => ApprovalRequest {
            approval_id: String,
            tool_call_id: String,
            name: String,
            #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
            args: serde_json::Value,
            /// The permission class of the tool, such as `network`.
            permission_class: String,
            /// Whether the call changes nothing. A reading tool may have a class with writing tools.
            #[serde(default, skip_serializing_if = "is_false")]
            read_only: bool,
            /// Whether the client carries the call out.
            #[serde(default, skip_serializing_if = "is_false")]
            by_client: bool,
            /// The input that the call needs. `approve` answers it with a `content`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            form: Option<Box<Form>>,
            expires_at: u64,
            ..place: Place { parent_id, depth },
        },
        /// The decision on a request for approval.
        "approval_resolved" => ApprovalResolved {
            approval_id: String,
            tool_call_id: String,
            decision: Decision,
            ..place: Place { parent_id, depth },
        },
        /// The turn would cross a limit, and waits until a person grants it the same budget once more: by the route of the
        /// approvals. `usage` is its use so far, `raised_to` the limit after the grant, and `grants_left` counts this one.
        "limit_request" => LimitRequest {
            approval_id: String,
            reason: BudgetReason,
            limit: u64,
            observed: u64,
            raised_to: u64,
            grants_left: u32,
            usage: CostSummary,
            expires_at: u64,
            ..place: Place { parent_id, depth },
        },
        /// The decision on a request for another budget, with the turn's limits from here on. A denial ends the turn.
        "limit_resolved" => LimitResolved {
            approval_id: String,
            decision: Decision,
            limits: TurnLimits,
            ..place: Place { parent_id, depth },
        },
        /// The model call broke off, and the service repeats it. Clients discard its parts.
        "model_call_reset" => ModelCallReset {
            model_call_id: String,
            ..place: Place { parent_id, depth },
            reason: String,
        },
        /// A hook is asked, or says its verdict. A hook that asks no model has an end alone, where it says something.
        "hook_update" => HookUpdate {
            hook_call_id: String,
            hook: String,
            point: HookPoint,
            status: CallStatus,
            /// At the end. Absent there if the end of its turn or step cut the hook off.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            decision: Option<HookDecision>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            text: Option<String>,
            /// The hook gave no verdict. One that may block has blocked the call.
            #[serde(default, skip_serializing_if = "is_false")]
            failed: bool,
            /// The call that the hook was asked about.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tool_call_id: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            started_ms: Option<u64>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            duration_ms: Option<u64>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            usage: Option<ModelCost>,
            ..place: Place { parent_id, depth },
        },
        /// Earlier messages of the thread have left the model's view. With a text, this summary stands in their place from here
        /// on; a later one includes it. Without one, they were left out.
        "history_summary" => HistorySummary {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            text: Option<String>,
        },
        /// An agent of the thread was made, answers, has answered, or ended. `parent` is the agent that made it, null for one of
        /// `main`; `tool_call_id` is the call by which it came about.
        "agent_update" => AgentUpdate { name: String, parent: Option<String>, status: AgentStatus, tool_call_id: String },
        /// A model made a plan.
        "plan_created" => PlanCreated { tool_call_id: String, plan: Box<Plan> },
        /// The plan waits for the user, who decides with the next message.
        "plan_ready_for_review" => PlanReadyForReview { plan: Box<Plan> },
        /// A reviewer gave a verdict on a plan.
        "plan_review" => PlanReview { plan_id: String, verdict: Verdict, notes: String },
        /// The steps of a plan begin.
        "executor_start" => ExecutorStart { plan_id: String, steps: u32 },
        /// A step begins. Events within the step have its call as their parent.
        "step_start" => StepStart { plan_id: String, step_id: String, index: usize, title: String, tool_call_id: String },
        /// A step has ended. `result` is a preview.
        "step_complete" => StepComplete { plan_id: String, step_id: String, index: usize, status: StepStatus, result: String },
        /// The plan has ended. Steps that did not run count as skipped.
        "executor_complete" => ExecutorComplete { plan_id: String, status: PlanStatus, completed: u32, failed: u32, skipped: u32 },
        /// The events of a swarm, which has names of its own: its plan, its steps, its result.
        "swarmPlanReady" => SwarmPlanReady { steps: Vec<String> },
        #[serde(rename_all = "camelCase")]
        "swarmStepStarted" => SwarmStepStarted { step_index: usize, description: String },
        #[serde(rename_all = "camelCase")]
        "swarmToolExecuted" => SwarmToolExecuted { step_index: usize, tool: String, brief_result: String },
        #[serde(rename_all = "camelCase")]
        "swarmStepCompleted" => SwarmStepCompleted { step_index: usize, result: String, status: StepStatus },
        "swarmComplete" => SwarmComplete { result: String },
        /// The session of a workflow changed: it advanced, came to another state, or has something to tell. `index` is the place
        /// of the step at which it stands, from 0, and `of` the number of steps; a complete session stands at none.
        "workflow_update" => WorkflowUpdate {
            session_id: String,
            workflow_id: String,
            status: SessionStatus,
            step_id: Option<String>,
            index: usize,
            of: usize,
            /// `no_advance`, `no_progress`, `repeated_call`, `retry`, `escalated`, `plan_denied`, …
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<String>,
        },
        /// The messages that wait for this turn to end, each time they change. `held`: they wait for a person after it.
        "queue_update" => QueueUpdate { held: bool, messages: Vec<QueuedPreview> },
        /// The turn reached a limit.
        "budget_exceeded" => BudgetExceeded {
            reason: BudgetReason,
            limit: u64,
            /// The attempted value. For counters this is the limit plus one.
            observed: u64,
            /// The work that the limit left undone, as in the stored message's `stop`.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            left: Vec<LeftUndone>,
        },
        /// The cost of the turn; once per turn, before `done`.
        "cost_summary" => CostSummary(CostSummary),
        /// Why the service stopped the turn, with advice.
        "error" => Error { code: String, message: String, retryable: bool },
        /// A person chose another path: the conversation ends with this event's turn, which ended earlier.
        "path_changed" => PathChanged,
        /// The last event of a turn, but for a choice of its path.
        "done" => Done {
            message_id: String,
            finish_reason: FinishReason,
            /// The values of `cost_summary`; absent in events of earlier versions.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            usage: Option<CostSummary>,
        },
    }
}

impl Event {
    /// The name of this kind of event, as in the member `type`.
    pub fn kind(&self) -> &'static str {
        self.name()
    }
}

/// The start or the end of a call.
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

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model finished its answer.
    Stop,
    /// The model's answer hit its length limit.
    Length,
    /// The provider refused or filtered.
    ContentFilter,
    /// A person or a newer request stopped the turn.
    Cancelled,
    /// A limit of the turn was reached.
    Budget,
    /// A provider or the service failed.
    Error,
    /// The service lost the turn and could not resume it.
    Interrupted,
}

fn is_false(flag: &bool) -> bool {
    !flag
}
