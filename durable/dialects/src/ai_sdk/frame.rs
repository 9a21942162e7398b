//! The frames of the stream: `UIMessageChunk` of `ai` 7, as far as we write them. A `$` is a value.

use serde::Serialize;

use crate::template::Hole::{Json, Number, Text};
use crate::template::{Hole, fill, filled};
use wire::protocol::{Place, StepStatus};

const START: &str =
    r#"{"type":"start","messageId":$,"messageMetadata":{"threadId":$,"turnId":$,"userMessageId":$}}"#;
pub const START_STEP: &str = r#"{"type":"start-step"}"#;
/// Drops the parts of the step: the model call broke off and is repeated.
pub const RESET_STEP: &str = r#"{"type":"reset-step"}"#;
pub const FINISH_STEP: &str = r#"{"type":"finish-step"}"#;
pub const TEXT_START: &str = r#"{"type":"text-start","id":$}"#;
pub const TEXT_DELTA: &str = r#"{"type":"text-delta","id":$,"delta":$}"#;
pub const TEXT_END: &str = r#"{"type":"text-end","id":$}"#;
pub const REASONING_START: &str = r#"{"type":"reasoning-start","id":$}"#;
pub const REASONING_DELTA: &str = r#"{"type":"reasoning-delta","id":$,"delta":$}"#;
pub const REASONING_END: &str = r#"{"type":"reasoning-end","id":$}"#;
/// A frame with the head of a tool part: [`tool`].
pub const TOOL_INPUT_START: &str = r#"{"type":"tool-input-start",$}"#;
pub const TOOL_INPUT_DELTA: &str = r#"{"type":"tool-input-delta","toolCallId":$,"inputTextDelta":$}"#;
pub const TOOL_INPUT_AVAILABLE: &str = r#"{"type":"tool-input-available",$,"input":$}"#;
pub const TOOL_INPUT_ERROR: &str = r#"{"type":"tool-input-error",$,"input":$,"errorText":$}"#;
pub const TOOL_APPROVAL_REQUEST: &str = r#"{"type":"tool-approval-request","approvalId":$,"toolCallId":$}"#;
pub const TOOL_APPROVAL_RESPONSE: &str = r#"{"type":"tool-approval-response","approvalId":$,"approved":$$}"#;
pub const TOOL_OUTPUT: &str = r#"{"type":"tool-output-available","toolCallId":$,"output":$}"#;
pub const TOOL_OUTPUT_SO_FAR: &str =
    r#"{"type":"tool-output-available","toolCallId":$,"output":$,"preliminary":true}"#;
pub const TOOL_OUTPUT_ERROR: &str = r#"{"type":"tool-output-error","toolCallId":$,"errorText":$}"#;
pub const TOOL_OUTPUT_DENIED: &str = r#"{"type":"tool-output-denied","toolCallId":$}"#;
pub const SOURCE_URL: &str = r#"{"type":"source-url","sourceId":$,"url":$,"title":$}"#;
pub const SOURCE_DOCUMENT: &str =
    r#"{"type":"source-document","sourceId":$,"mediaType":"text/plain","title":$}"#;
pub const DATA_PLAN: &str = r#"{"type":"data-plan","id":$,"data":$}"#;
pub const DATA_SWARM: &str = r#"{"type":"data-plan","id":"swarm","data":{"steps":[$]}}"#;
/// The limits of the turn, and the one that it reached.
pub const DATA_BUDGET: &str = r#"{"type":"data-budget","id":"budget","data":{$}}"#;
/// Clients do not keep it: it is the state of now.
pub const DATA_AGENT_STATE: &str = r#"{"type":"data-agent-state","data":{$},"transient":true}"#;
pub const DATA_COST: &str = r#"{"type":"data-cost","id":"cost","data":$}"#;
pub const ERROR: &str = r#"{"type":"error","errorText":$}"#;
pub const ABORT: &str = r#"{"type":"abort","reason":$}"#;
/// Clients send the metadata back, and `seq` tells how far they have read.
pub const FINISH: &str = r#"{"type":"finish","finishReason":$,"messageMetadata":{"seq":$$}}"#;

/// The metadata of a message from its beginning on: the ids for our own routes.
#[derive(Default)]
pub struct Begun {
    pub thread_id: String,
    pub turn_id: String,
    pub user_message_id: String,
    pub message_id: String,
}

/// A step of a swarm.
pub struct SwarmStep {
    pub title: String,
    pub status: StepStatus,
}

/// The head of a tool part. A client neither runs a tool that the service carries out nor waits for its own result of it.
pub fn tool(id: &str, name: &str, waits_for_client: bool, place: &Place) -> Vec<u8> {
    let mut head = filled(r#""toolCallId":$,"toolName":$"#, &[Text(id), Text(name)]);
    if !waits_for_client {
        head.extend_from_slice(br#","providerExecuted":true"#);
    }
    if let Some(parent) = &place.parent_id {
        let within = [Text(parent), Number(place.depth.into())];
        fill(r#","toolMetadata":{"parentId":$,"depth":$}"#, &within, &mut head);
    }
    head
}

/// A value of ours as JSON.
pub fn json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(value)
}

/// Appends a frame.
pub fn write(out: &mut Vec<u8>, frame: &str, holes: &[Hole<'_>]) {
    out.extend_from_slice(b"data: ");
    fill(frame, holes, out);
    out.extend_from_slice(b"\n\n");
}

/// Appends the frame with which a message begins.
pub fn write_start(out: &mut Vec<u8>, begun: &Begun) {
    let Begun { thread_id, turn_id, user_message_id, message_id } = begun;
    write(out, START, &[Text(message_id), Text(thread_id), Text(turn_id), Text(user_message_id)]);
}

/// Appends the end of the stream.
pub fn write_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: [DONE]\n\n");
}

/// Members of an object that follow others, where there is a value.
pub fn member(template: &str, value: Option<&[u8]>) -> Vec<u8> {
    value.map(|value| filled(template, &[Json(value)])).unwrap_or_default()
}
