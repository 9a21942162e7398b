//! The agents of a thread, as the routes tell of them.

use serde::{Deserialize, Serialize};

use super::request::read;
use super::{ApiError, Hook};
use crate::model::Message;

/// The most bytes of a dump: what an agent remembers and has heard, its instructions, and the JSON around them.
pub const MAX_DUMP_BYTES: usize = 2_000_000;

/// The agents of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentList {
    /// The agent that answers the user.
    pub main: MainAgent,
    /// The agents that were made.
    pub agents: Vec<AgentSummary>,
}

/// `main`, the agent that answers the user, with its hooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MainAgent {
    /// Its system prompt: the one that the open turn runs with, else that of a next turn without a chat context.
    pub instructions: String,
    /// The open turn that the prompt belongs to; null where none is open.
    pub turn_id: Option<String>,
    /// The agents that answer, and those that only hear, in its next discussion that names nobody.
    pub speakers: Vec<String>,
    pub listeners: Vec<String>,
    /// The hooks of the thread, which hold from the next turn on.
    pub hooks: Vec<Hook>,
    /// The hooks of the operator, without their words.
    pub operators: Vec<Hook>,
}

/// An agent of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentSummary {
    pub name: String,
    /// The agent that made it; null for one of `main`.
    pub parent: Option<String>,
    /// Its system prompt.
    pub instructions: String,
    /// The call that answers in its place where another agent asks it; null: a model answers.
    pub code: Option<String>,
    /// The texts that it heard since it last answered.
    pub heard: Vec<String>,
    /// The agents that answer, and those that only hear, in its next discussion that names nobody.
    pub speakers: Vec<String>,
    pub listeners: Vec<String>,
    /// The hooks that it made for itself.
    pub hooks: Vec<Hook>,
}

/// The rounds of an agent, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentRounds {
    pub rounds: Vec<AgentRound>,
    /// Names the page of the rounds before these; null where there are none.
    pub next_cursor: Option<String>,
}

/// One question to an agent with everything up to its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentRound {
    pub turn_id: String,
    #[cfg_attr(test, ts(type = "unknown[]"))]
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<serde_json::Value>"))]
    pub messages: Vec<Message>,
}

/// An agent with all that it remembers, to be restored elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentDump {
    #[cfg_attr(feature = "openapi", schemars(length(max = 32), regex(pattern = r"^[a-z][a-z0-9_-]{0,31}$")))]
    pub name: String,
    pub instructions: String,
    /// The call that answers in its place where another agent asks it; absent: a model answers.
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = ["websearch", null])))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The tools that it may use; absent: all that its maker has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The MCP servers whose tools it has beside those, and the tools that it may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The texts that it heard since it last answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
    /// The hooks that it made for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<serde_json::Value>"))]
    pub hooks: Vec<Hook>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<Vec<serde_json::Value>>"))]
    pub rounds: Vec<Vec<Message>>,
}

impl AgentDump {
    /// Reads and checks a body. Each call in a round must have its result, because models refuse anything else.
    pub fn parse(body: &[u8]) -> Result<AgentDump, ApiError> {
        let dump: AgentDump = read(body)?;
        match dump.rounds.iter().position(|round| !is_whole(round)) {
            None => Ok(dump),
            Some(index) => {
                let detail = "expected a user's message first, and each call with its result after it";
                Err(ApiError::field(format!("rounds.{index}"), detail))
            }
        }
    }
}

/// Whether a round begins with a user's message and answers each call, in the order of the calls.
fn is_whole(round: &[Message]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in round {
        match message {
            Message::Tool { call_id, .. } => match open.first() {
                Some(first) if first == call_id => drop(open.remove(0)),
                _ => return false,
            },
            Message::User { .. } | Message::Assistant { .. } if !open.is_empty() => return false,
            Message::Assistant { tool_calls, .. } => {
                open.extend(tool_calls.iter().map(|call| call.call_id.as_str()));
            }
            Message::User { .. } => {}
        }
    }
    open.is_empty() && matches!(round.first(), Some(Message::User { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // Issue 20, 4.
    #[test]
    fn a_dump_has_whole_rounds() {
        let user = json!({"user": {"content": "Hello."}});
        let call = |ids: &[&str]| {
            let calls: Vec<_> =
                ids.iter().map(|id| json!({"call_id": id, "name": "echo", "arguments": "{}"})).collect();
            json!({"assistant": {"content": "", "tool_calls": calls}})
        };
        let result =
            |id: &str| json!({"tool": {"call_id": id, "name": "echo", "content": "x", "is_error": false}});
        let parse = |round: serde_json::Value| {
            let dump = json!({"name": "a", "instructions": "A.", "rounds": [[user], round]});
            AgentDump::parse(dump.to_string().as_bytes())
        };
        let whole = json!([user, call(&["1", "2"]), result("1"), result("2"), call(&[])]);
        assert_eq!(parse(whole).unwrap().rounds[1].len(), 5);
        for broken in [
            json!([]),
            json!([call(&[])]),
            json!([user, result("1")]),
            json!([user, call(&["1"])]),
            json!([user, call(&["1"]), user]),
            json!([user, call(&["1", "2"]), result("2"), result("1")]),
        ] {
            let refused = parse(broken.clone()).unwrap_err();
            assert_eq!(refused.field.as_deref(), Some("rounds.1"), "{broken}");
        }
        let least = json!({"name": "a", "instructions": "A."}).to_string();
        assert_eq!(AgentDump::parse(least.as_bytes()).unwrap().rounds.len(), 0);
        assert!(AgentDump::parse(br#"{"name": 1}"#).is_err());
    }
}
