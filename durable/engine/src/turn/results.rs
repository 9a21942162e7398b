//! What a call's start and end are told as: to clients as events, to the model as a result.

use super::Turn;
use crate::journal::{Answer, ToolEnd};
use crate::memory::Overlay;
use crate::ports::ToolError;
use crate::versions::Versions;
use wire::model::ToolCall;
use wire::protocol::{CallStatus, Event, Place};

/// The most bytes of arguments that clients are told: an event is one row of the log. Tools get all of them.
const MAX_TOLD_ARGUMENTS: usize = 100_000;

/// Arguments as clients are told of them.
pub(super) fn told_arguments(arguments: &str) -> serde_json::Value {
    match serde_json::from_str(arguments) {
        _ if arguments.len() > MAX_TOLD_ARGUMENTS => {
            let (told, _) = arguments.split_at(arguments.floor_char_boundary(MAX_TOLD_ARGUMENTS));
            serde_json::json!({ "_raw": format!("{told}…") })
        }
        Ok(args @ serde_json::Value::Object(_)) => args,
        _ if arguments.trim().is_empty() => serde_json::json!({}),
        _ => serde_json::json!({ "_raw": arguments }),
    }
}

/// Why a person cannot be asked about a call: nobody can allow what they were not shown. Said to the model.
pub(super) fn too_long_to_show(arguments: &str) -> Option<String> {
    let bytes = arguments.len();
    (bytes > MAX_TOLD_ARGUMENTS).then(|| {
        format!(
            "The user must allow this call, and its arguments have {bytes} bytes, of which {MAX_TOLD_ARGUMENTS} can be \
             shown. So nobody was asked, and it was not made. Make it with shorter arguments, or in several calls."
        )
    })
}

/// What a client's answer is to the model.
pub(super) fn told_by_client(answer: Answer) -> Result<String, ToolError> {
    match answer {
        Answer::Result { content, is_error: false } => Ok(content),
        Answer::Result { content, is_error: true } => Err(ToolError(content)),
        Answer::Approve | Answer::ApproveForThread | Answer::Deny | Answer::Expired => {
            Err(ToolError(UNANSWERED.to_owned()))
        }
    }
}

/// The event that a call's arguments are known, with the turn's running time.
pub(super) fn start_event(id: String, call: &ToolCall, place: &Place, started_ms: u64) -> Event {
    Event::ToolCallUpdate {
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::Start,
        started_ms: Some(started_ms),
        args: Some(told_arguments(&call.arguments)),
        result: None,
        is_error: false,
        duration_ms: None,
        usage: None,
        awaits: None,
        expires_at: None,
        place: place.clone(),
    }
}

/// The event that a call has its result.
pub(super) fn end_event(turn: &Turn, id: String, call: &ToolCall, place: &Place, end: &ToolEnd) -> Event {
    Event::ToolCallUpdate {
        usage: turn.record.borrow().usage_below(&id),
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::End,
        started_ms: None,
        args: None,
        result: Some(end.content.clone()),
        is_error: end.is_error,
        duration_ms: Some(end.duration_ms),
        awaits: None,
        expires_at: None,
        place: place.clone(),
    }
}

/// What the model is told of calls that were not answered, or answered with no.
const UNANSWERED: &str = "The user's client did not answer in time: the result is unknown, and it may have taken effect. Check before \
     repeating it.";
pub(super) const UNASKED: &str = "Nobody allowed this call in time, so it was not made.";
pub(super) const DENIED: &str = "The user did not allow this call, so it was not made. Do not repeat it: go on without it, or ask the user.";

/// What the model is told of a call whose run was lost.
pub(super) const UNKNOWN: &str =
    "The call was interrupted: its result is unknown, and it may have run. Check before repeating it.";

/// A result that is an error.
pub(super) fn failed(content: String, duration_ms: u64) -> ToolEnd {
    let (overlay, versions) = (Overlay::new(), Versions::new());
    ToolEnd { content, is_error: true, partial: false, overlay, versions, duration_ms }
}

/// At most so many bytes, cut at a character's border, with a mark that says what is missing (N-145).
pub(super) fn truncated(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mark = format!("\n[truncated: {} bytes in all]", text.len());
    let mark = if mark.len() <= limit { mark } else { String::new() };
    let mut kept = limit - mark.len();
    while !text.is_char_boundary(kept) {
        kept -= 1;
    }
    let mut text = text;
    text.truncate(kept);
    text + &mark
}
