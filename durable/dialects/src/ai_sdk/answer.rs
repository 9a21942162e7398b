//! The answer that a part of an assistant's message is: a decision on a call, or the result of a client's own tool.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use wire::protocol::{Decision, GivenAnswer};

use crate::given::bounded;

/// The members of a part, unread.
pub type AnswerPart<'a> = BTreeMap<String, &'a RawValue>;

/// The answer of a tool's part.
pub fn answer(part: &AnswerPart<'_>) -> Result<Option<GivenAnswer>, String> {
    #[derive(Deserialize)]
    struct Given {
        id: String,
        approved: bool,
    }
    fn read<'a, T: Deserialize<'a>>(part: &AnswerPart<'a>, name: &str) -> Option<T> {
        wire::json::from_str(part.get(name)?.get()).ok()
    }
    let text = |name: &str| read::<String>(part, name);
    let kind = text("type").unwrap_or_default();
    let is_tool = kind.starts_with("tool-") || kind == "dynamic-tool";
    let (Some(id), true) = (text("toolCallId"), is_tool) else { return Ok(None) };
    let is_set = |name: &str| read::<bool>(part, name) == Some(true);
    let by_client = !is_set("providerExecuted") && !is_set("preliminary");
    let (id, content, decision, is_error) = match text("state").as_deref() {
        Some("approval-responded") => {
            let Some(Given { id, approved }) = read(part, "approval") else { return Ok(None) };
            (id, String::new(), Some(if approved { Decision::Approve } else { Decision::Deny }), false)
        }
        // A text goes to the model as it is, any other value as JSON.
        Some("output-available") if by_client => {
            let json = || part.get("output").map_or("null", |raw| raw.get()).to_owned();
            (id, bounded(text("output").unwrap_or_else(json))?, None, false)
        }
        Some("output-error") if by_client => {
            (id, bounded(text("errorText").unwrap_or_default())?, None, true)
        }
        _ => return Ok(None),
    };
    Ok(Some(GivenAnswer { id, decision, content, is_error }))
}
