//! The start and the end of a call: as events for clients, as a result for the model.

use super::Turn;
use crate::journal::{Answer, ToolEnd};
use crate::marks::data;
use crate::ports::ToolError;
use crate::record::charges::Charges;
use crate::toolbelt::Charge;
use wire::model::ToolCall;
use wire::protocol::{CallStatus, Event, MAX_LINE_CHARS, MAX_SOURCES, Place, Source};

/// The most bytes of arguments in an event for clients: an event is one row of the log. Tools get all of
/// them.
const MAX_TOLD_ARGUMENTS: usize = 100_000;

/// Arguments as they stand in events for clients.
pub(super) fn told_arguments(arguments: &str) -> serde_json::Value {
    match wire::json::from_str(arguments) {
        _ if arguments.len() > MAX_TOLD_ARGUMENTS => {
            let (told, _) = arguments.split_at(arguments.floor_char_boundary(MAX_TOLD_ARGUMENTS));
            serde_json::json!({ "_raw": format!("{told}…") })
        }
        Ok(args @ serde_json::Value::Object(_)) => args,
        _ if arguments.trim().is_empty() => serde_json::json!({}),
        _ => serde_json::json!({ "_raw": arguments }),
    }
}

/// The refusal of a call whose arguments are too long to show: a person can allow only a call that they see
/// whole. The refusal goes to the model.
pub(super) fn too_long_to_show(arguments: &str) -> Option<String> {
    let bytes = arguments.len();
    (bytes > MAX_TOLD_ARGUMENTS).then(|| {
        format!(
            "The user must allow this call, and its arguments have {bytes} bytes, of which {MAX_TOLD_ARGUMENTS} can be \
             shown. So the user was not asked, and it was not made. Make it with shorter arguments, or in several calls."
        )
    })
}

/// A client's answer as a result for the model.
pub(super) fn told_by_client(answer: Answer) -> Result<String, ToolError> {
    match answer {
        Answer::Result { content, is_error: false } => Ok(content),
        Answer::Result { content, is_error: true } => Err(ToolError(content)),
        Answer::Approve | Answer::ApproveForThread | Answer::Deny | Answer::Expired => {
            Err(ToolError(UNANSWERED.to_owned()))
        }
    }
}

/// The start event: the call's arguments are known. It has the turn's running time.
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
        decision: None,
        cost_usd: None,
        sources: Vec::new(),
        awaits: None,
        expires_at: None,
        place: place.clone(),
    }
}

/// The end event: the call has its result.
pub(super) fn end_event(turn: &Turn, key: &str, call: &ToolCall, place: &Place, end: &ToolEnd) -> Event {
    let id = turn.ids.tool_call(key);
    let record = turn.record.borrow();
    Event::ToolCallUpdate {
        usage: record.usage_below(&id),
        decision: record.decision(key),
        cost_usd: Charges(&record).cost_usd(key, end),
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::End,
        started_ms: None,
        args: None,
        result: Some(end.content.clone()),
        is_error: end.is_error,
        duration_ms: Some(end.duration_ms),
        sources: sources(turn, call, end),
        awaits: None,
        expires_at: None,
        place: place.clone(),
    }
}

/// The documents that a result comes from, as its tool reads them.
fn sources(turn: &Turn, call: &ToolCall, end: &ToolEnd) -> Vec<Source> {
    let tool = turn.ports.tools.all().iter().find(|tool| tool.spec().name == call.name);
    let Some(tool) = tool.filter(|_| !end.is_error) else { return Vec::new() };
    bounded(tool.sources(&end.content))
}

/// The sources of a call, as many and as long as readers and storage take them.
fn bounded(titles: Vec<String>) -> Vec<Source> {
    let titles = titles.into_iter().take(MAX_SOURCES);
    titles.map(|title| Source { title: title.chars().take(MAX_LINE_CHARS).collect() }).collect()
}

/// The results, for the model, of calls that got no answer, or a no.
const UNANSWERED: &str = "The user's client did not answer in time: the result is unknown, and it may have taken effect. Check before \
     repeating it.";
pub(super) const UNASKED: &str = "The time to allow this call ended without an answer, so it was not made.";
const DENIED: &str = "The user did not allow this call, so it was not made. Do not repeat it: go on without it, or ask the user.";

/// The result of a call that a person denied, with their words where they gave a reason. The words are a person's, and cannot
/// end their mark.
pub(super) fn denied(reason: Option<&str>) -> String {
    let words = reason.map(|reason| format!(" This is why, in the user's words:\n{}", data(REASON, reason)));
    format!("{DENIED}{}", words.unwrap_or_default())
}

/// The mark of a person's reason.
const REASON: &str = "reason_of_the_user";

/// The result, for the model, of a call whose run was lost.
pub(super) const UNKNOWN: &str =
    "The call was interrupted: its result is unknown, and it may have run. Check before repeating it.";

/// The same of a call that may have cost money.
pub(super) fn unknown_charge(charge: &Charge) -> String {
    let cost =
        charge.microusd.map(|microusd| format!(", at most ${}", microusd as f64 / 1e6)).unwrap_or_default();
    format!(
        "The call was interrupted: its result is unknown. {}:{} may have carried it out and taken money for it{cost}, which counts \
         as spent. It was not repeated. Check before you make it again.",
        charge.provider, charge.model
    )
}

/// The results of calls that were not made, because of what they may cost.
pub(super) const UNPRICED: &str = "The money of this turn is limited, and the price of this call is not known here, so it was not made. Do not \
     repeat it: go on without it, or with a model whose price is known.";
/// The result of a call that would cost more than it holds.
pub(super) const DEARER: &str = "What this call costs has changed since it was admitted, so it was not made. Make it again if it is worth \
     its new price.";
pub(super) fn unaffordable(charge: Option<&Charge>) -> String {
    let most = charge.and_then(|charge| charge.microusd).unwrap_or(0) as f64 / 1e6;
    format!(
        "This call may cost ${most}, and the turn's limit of money has no room for that, so it was not made. Go on without it."
    )
}

/// A result that is an error.
pub(super) fn failed(content: String, duration_ms: u64) -> ToolEnd {
    ToolEnd { content, is_error: true, duration_ms, ..ToolEnd::default() }
}

/// Cuts a text to this many bytes, at a character's border, with a mark that tells its whole length (N-145).
pub(crate) fn truncated(text: String, limit: usize) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 19, item 1.
    #[test]
    fn a_call_has_so_many_sources_and_titles_have_so_many_characters() {
        let titles = |count: usize, chars: usize| vec!["ü".repeat(chars); count];
        let told = |count, chars| -> Vec<String> {
            bounded(titles(count, chars)).into_iter().map(|source| source.title).collect()
        };
        let (most, longest) = (MAX_SOURCES, MAX_LINE_CHARS);
        assert_eq!(told(most, longest), titles(most, longest));
        assert_eq!(told(most + 1, longest + 1), titles(most, longest));
    }
}
