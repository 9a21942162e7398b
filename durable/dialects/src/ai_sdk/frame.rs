//! The frames of the stream: `UIMessageChunk` of `ai` 7, as far as we write them.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::inside::Inside;
use wire::protocol::{
    AgentState, BudgetReason, CostSummary, FinishReason, LeftUndone, Plan, Seq, StepStatus, TurnLimits,
};

/// One frame.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Frame<'a> {
    Start {
        message_id: &'a str,
        message_metadata: &'a Begun,
    },
    StartStep,
    /// Drops the parts of the step: the model call broke off and is repeated.
    ResetStep,
    FinishStep,
    TextStart {
        id: &'a str,
    },
    TextDelta {
        id: &'a str,
        delta: &'a str,
    },
    TextEnd {
        id: &'a str,
    },
    ReasoningStart {
        id: &'a str,
    },
    ReasoningDelta {
        id: &'a str,
        delta: &'a str,
    },
    ReasoningEnd {
        id: &'a str,
    },
    ToolInputStart(Tool<'a>),
    ToolInputDelta {
        tool_call_id: &'a str,
        input_text_delta: &'a str,
    },
    ToolInputAvailable {
        #[serde(flatten)]
        tool: Tool<'a>,
        input: &'a Value,
    },
    ToolInputError {
        #[serde(flatten)]
        tool: Tool<'a>,
        input: &'a Value,
        error_text: &'a str,
    },
    ToolApprovalRequest {
        approval_id: &'a str,
        tool_call_id: &'a str,
    },
    ToolApprovalResponse {
        approval_id: &'a str,
        approved: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    ToolOutputAvailable {
        tool_call_id: &'a str,
        output: Output<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        preliminary: bool,
    },
    ToolOutputError {
        tool_call_id: &'a str,
        error_text: &'a str,
    },
    ToolOutputDenied {
        tool_call_id: &'a str,
    },
    SourceUrl {
        source_id: &'a str,
        url: &'a str,
        title: &'a str,
    },
    SourceDocument {
        source_id: &'a str,
        media_type: &'a str,
        title: &'a str,
    },
    DataPlan {
        id: &'a str,
        data: PlanData<'a>,
    },
    DataBudget {
        id: &'a str,
        data: Budget<'a>,
    },
    /// Clients do not keep it: it is the state of now.
    DataAgentState {
        data: State<'a>,
        transient: bool,
    },
    DataCost {
        id: &'a str,
        data: &'a CostSummary,
    },
    Error {
        error_text: &'a str,
    },
    Abort {
        reason: &'a str,
    },
    Finish {
        finish_reason: &'static str,
        message_metadata: Finished<'a>,
    },
}

/// The metadata of a message from its beginning on: the ids for our own routes.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Begun {
    pub thread_id: String,
    pub turn_id: String,
    pub user_message_id: String,
    #[serde(skip)]
    pub message_id: String,
}

/// The metadata of a message at the end of its stream. A client sends them back, and `seq` tells how far it has read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished<'a> {
    pub seq: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<&'a CostSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop<'a>>,
}

/// Why the service stopped the turn.
#[derive(Serialize)]
pub struct Stop<'a> {
    pub code: &'a str,
    pub message: &'a str,
}

/// The head of a tool part.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool<'a> {
    pub tool_call_id: &'a str,
    pub tool_name: &'a str,
    /// The service carries it out: the client neither runs it nor waits for its own result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub provider_executed: bool,
    /// Where a call stands that is not the root's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_metadata: Option<Within<'a>>,
}

/// The place of a call below the root.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Within<'a> {
    pub parent_id: &'a str,
    pub depth: u32,
}

/// The output of a tool part.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Output<'a> {
    Text(&'a str),
    Json(&'a RawValue),
    Inside { text: &'a str, calls: &'a Inside },
    Limits(TurnLimits),
}

/// The state of the agent.
#[derive(Serialize)]
pub struct State<'a> {
    pub state: AgentState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<&'a str>,
}

/// The limits of the turn, and the one that it reached.
#[derive(Serialize)]
pub struct Budget<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<TurnLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Exceeded<'a>>,
}

#[derive(Serialize)]
pub struct Exceeded<'a> {
    pub reason: BudgetReason,
    pub limit: u64,
    pub observed: u64,
    pub left: &'a [LeftUndone],
}

/// A plan, or the steps of a swarm.
#[derive(Serialize)]
#[serde(untagged)]
pub enum PlanData<'a> {
    Plan(&'a Plan),
    Swarm { steps: &'a [SwarmStep] },
}

/// A step of a swarm.
#[derive(Serialize)]
pub struct SwarmStep {
    pub title: String,
    pub status: StepStatus,
}

/// Appends a frame.
pub fn write(out: &mut Vec<u8>, frame: &Frame<'_>) -> Result<(), serde_json::Error> {
    let start = out.len();
    out.extend_from_slice(b"data: ");
    let written = serde_json::to_writer(&mut *out, frame);
    if written.is_err() {
        out.truncate(start);
        return written;
    }
    out.extend_from_slice(b"\n\n");
    Ok(())
}

/// Appends the end of the stream.
pub fn write_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: [DONE]\n\n");
}
