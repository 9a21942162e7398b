//! The decisions of a person, and forms: input that a tool asks a person for in the middle of a call.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ApiError, Decision, request};

/// The most questions of a form, the longest text of one, in characters, and the largest schema of one, in bytes. A form is
/// part of an event, which is a row of the log.
pub const MAX_QUESTIONS: usize = 8;
pub const MAX_QUESTION_CHARS: usize = 2_000;
pub const MAX_QUESTION_SCHEMA: usize = 8 * 1024;
/// The longest id of a question, in bytes.
pub const MAX_QUESTION_ID: usize = 100;
/// The most bytes of the reason with which a person denies a call.
pub const MAX_REASON_BYTES: usize = 2_000;
/// The most bytes of the content with which a person answers a form.
pub const MAX_FORM_CONTENT: usize = 32 * 1024;

/// The input that a call needs. The one who asks is no part of the service, and a person is told its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Form {
    /// The MCP server that asks.
    pub server: String,
    pub questions: Vec<FormQuestion>,
}

/// One question of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FormQuestion {
    /// The member of the answer's `content` that answers it.
    pub id: String,
    pub message: String,
    /// The JSON Schema of the answer: an object of texts, numbers, booleans and choices.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub schema: Map<String, Value>,
    /// The names of its properties, in the order in which a person sees them. The schema itself is sorted by name.
    #[serde(default)]
    pub order: Vec<String>,
}

/// The body of `POST …/approvals/{id}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Approval {
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = ["approve", "approve_for_thread", "deny"])))]
    pub decision: Decision,
    /// The answer to a form, by the ids of its questions. Any other decision ignores it.
    #[cfg_attr(test, ts(type = "Record<string, unknown> | null"))]
    #[serde(default)]
    pub content: Option<Map<String, Value>>,
    /// Why the call is denied, for the model: at most 2 000 bytes of UTF-8. Only with `deny`, and only for a call.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Approval {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<Approval, ApiError> {
        let mut approval: Approval = request::read(body)?;
        approval.reason = approval.reason.filter(|reason| !reason.trim().is_empty());
        match &approval.reason {
            Some(_) if approval.decision != Decision::Deny => {
                return Err(ApiError::field("reason", "only `deny` takes a reason"));
            }
            Some(reason) if reason.len() > MAX_REASON_BYTES => {
                return Err(ApiError::field("reason", format!("at most {MAX_REASON_BYTES} bytes")));
            }
            _ => {}
        }
        match approval.decision {
            Decision::Expired | Decision::Standing => {
                Err(ApiError::field("decision", "a client cannot send `expired` or `standing`"))
            }
            Decision::Approve | Decision::ApproveForThread | Decision::Deny => {
                let content = serde_json::to_string(&approval.content).unwrap_or_default();
                let problem =
                    || ApiError::field("content", format!("at most {MAX_FORM_CONTENT} bytes of JSON"));
                if content.len() > MAX_FORM_CONTENT { Err(problem()) } else { Ok(approval) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Issue 22: the answer to a form, at its limit and just beyond it.
    #[test]
    fn the_answer_to_a_form_has_a_limit() {
        let parse = |bytes: usize| {
            let bare = json!({"a": ""}).to_string().len();
            let content = json!({"a": "x".repeat(bytes - bare)});
            Approval::parse(json!({"decision": "approve", "content": content}).to_string().as_bytes())
        };
        assert!(parse(MAX_FORM_CONTENT).is_ok());
        assert_eq!(parse(MAX_FORM_CONTENT + 1).unwrap_err().field.as_deref(), Some("content"));
        let none = Approval::parse(br#"{"decision": "deny", "content": null}"#).unwrap();
        assert_eq!((none.decision, none.content), (Decision::Deny, None));
    }

    // Issue 53, fault 3: the reason of a denial, at its limit and just beyond it.
    #[test]
    fn a_denial_may_have_a_reason() {
        let parse = |decision: &str, reason: &str| {
            Approval::parse(json!({"decision": decision, "reason": reason}).to_string().as_bytes())
        };
        let field = |decision, reason: &str| parse(decision, reason).unwrap_err().field.clone();
        let longest = "ü".repeat(MAX_REASON_BYTES / 2);
        assert_eq!(parse("deny", &longest).unwrap().reason, Some(longest.clone()));
        assert_eq!(field("deny", &format!("{longest}x")).as_deref(), Some("reason"));
        assert_eq!(field("approve", "Go on.").as_deref(), Some("reason"));
        assert_eq!(field("approve_for_thread", "Go on.").as_deref(), Some("reason"));
        assert_eq!(parse("approve", " \n").unwrap().reason, None);
    }
}
