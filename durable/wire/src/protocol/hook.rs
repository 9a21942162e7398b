//! Hooks: rules that watch an agent. A hook comments on what the agent is told, or blocks what it wants to do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::ApiError;
use super::request::read;

/// A hook as it is in force: all its members have been checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Hook {
    pub name: String,
    pub on: HookPoint,
    /// The names of the calls that it watches; a name that ends in `*` stands for all that begin so. Empty: every call.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub calls: Vec<String>,
    /// The rule of a hook that is built in; none where `instructions` say what a model judges by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<String>,
    /// The options of that rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, ts(type = "Record<string, unknown> | undefined"))]
    pub options: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The keys of the turn's memory that the model of a hook with instructions reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub reads: Vec<String>,
    #[serde(default)]
    pub of: HookReach,
    /// When a hook of a thread was put (milliseconds since 1970): a hook that is put again has a life of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_at: Option<u64>,
    /// In a list: the hook has quit, and watches the main agent of this conversation no more. No definition has this member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub has_quit: bool,
}

impl Hook {
    /// Whether its `match` has calls of this name; an empty one has all.
    pub fn matches(&self, call: &str) -> bool {
        let is_meant = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => call.starts_with(beginning),
            None => call == pattern,
        };
        self.calls.is_empty() || self.calls.iter().any(is_meant)
    }

    /// A digest of the definition, which tells one hook of a name from the next one.
    pub fn digest(&self) -> String {
        if let Some(digest) = self.instructions.as_deref().and_then(digest_in) {
            return digest.to_owned();
        }
        let json = serde_json::to_vec(&Hook { has_quit: false, ..self.clone() }).unwrap_or_default();
        Sha256::digest(json).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The text that stands in a record in place of words of the operator.
pub fn digest_text(digest: &str) -> String {
    format!("{DIGEST}{digest}{DIGEST_END}")
}

/// The digest of such a text, which may have blanks behind it.
pub fn digest_in(text: &str) -> Option<&str> {
    let digest = text.trim_end().strip_prefix(DIGEST)?.strip_suffix(DIGEST_END)?;
    (digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digest)
}

const DIGEST: &str = "[Words of the operator, digest ";
const DIGEST_END: &str = "]";

/// The body of `PUT /api/threads/{id}/hooks/{name}`: a built-in hook, or the instructions by which a model judges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[cfg_attr(test, ts(optional_fields))]
#[serde(default, deny_unknown_fields)]
pub struct NewHook {
    /// When it is asked. A built-in hook knows.
    pub on: Option<HookPoint>,
    /// The names of the calls that it watches; a name that ends in `*` stands for all that begin so. Absent: every call.
    #[serde(rename = "match")]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_HOOK_CALLS)))]
    pub calls: Option<Vec<String>>,
    /// The name of a built-in hook.
    pub builtin: Option<String>,
    /// The options of the built-in hook.
    #[cfg_attr(test, ts(type = "Record<string, unknown> | null", optional))]
    pub options: Option<BTreeMap<String, Value>>,
    /// The words by which a model judges; without `builtin`.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_HOOK_INSTRUCTIONS)))]
    pub instructions: Option<String>,
    /// The keys of the turn's memory that the model reads; with `instructions`.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_HOOK_READS)))]
    pub reads: Option<Vec<String>>,
    pub of: Option<HookReach>,
}

impl NewHook {
    /// Reads a body. A member that does not exist is refused: a misspelt rule would not hold.
    pub fn parse(body: &[u8]) -> Result<NewHook, ApiError> {
        read(body)
    }
}

/// The hooks of a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct HookList {
    /// Those of the thread, in the order in which they are asked.
    pub hooks: Vec<Hook>,
    /// The operator's, which are asked first and which nobody removes; without their instructions and options.
    pub operators: Vec<Hook>,
    /// Those that the main agent of this conversation has made itself.
    #[serde(default)]
    pub own: Vec<Hook>,
}

/// The beginning of the name by which a person speaks to a hook of a thread. No agent has such a name.
pub const HOOK_AGENT: &str = "hook:";

/// The name of an agent, or of a hook to which a person speaks, without the sign of hooks.
pub(super) fn name_of_agent(name: &str) -> &str {
    name.strip_prefix(HOOK_AGENT).unwrap_or(name)
}

/// The most names of calls that a hook watches, and the longest of them in bytes: tools of MCP servers have long names.
pub const MAX_HOOK_CALLS: usize = 16;
pub const MAX_HOOK_CALL_BYTES: usize = 128;
/// The longest instructions in bytes.
pub const MAX_HOOK_INSTRUCTIONS: usize = 20_000;
/// The most keys that a hook reads: a hook looks at a few facts, not at a store.
pub const MAX_HOOK_READS: usize = 8;

/// The moment at which a hook is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before the first model call of a level: the hook may comment on its input.
    Input,
    /// Before each model call that follows results of calls: the hook may comment on them.
    Result,
    /// Before a call is made: the hook may block it, or comment on it.
    #[default]
    Action,
    /// Before readers get a drafted answer: the hook may block it, and the agent writes it again. The text of such an agent
    /// waits until its reply has ended.
    Answer,
}

impl HookPoint {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            HookPoint::Input => "input",
            HookPoint::Result => "result",
            HookPoint::Action => "action",
            HookPoint::Answer => "answer",
        }
    }
}

/// The levels that a hook watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookReach {
    /// The agent that the user talks to.
    Main,
    /// Subtasks, steps of plans and other agents as well: each has a copy with a state of its own.
    #[default]
    All,
}

/// The verdict of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// It has no objection and says nothing.
    #[default]
    Allow,
    /// The call is not made, or the answer is not shown; the model reads why.
    Block,
    /// The model reads its text before the next model call.
    Comment,
    /// It has no objection, and is not asked again in this level.
    Quit,
}

/// The part of a node of the execution tree that only hooks have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TreeHook {
    pub point: HookPoint,
    /// Absent if the end of its turn or step cut the hook off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookDecision>,
    /// The hook gave no verdict: it was lost, late, or not understood.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The call that the hook was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::NewHook;
    use crate::protocol::ErrorCode;

    // Issue 20, section 5: bad members are refused with their name, and so is a member that does not exist.
    #[test]
    fn a_bad_member_of_a_hook_is_named() {
        for (body, field) in [
            (r#"{"on": "output"}"#, "on"),
            (r#"{"match": "echo"}"#, "match"),
            (r#"{"match": ["echo", 1]}"#, "match[1]"),
            (r#"{"options": []}"#, "options"),
            (r#"{"instructions": 1}"#, "instructions"),
            (r#"{"reads": [null]}"#, "reads[0]"),
            (r#"{"of": "some"}"#, "of"),
            (r#"{"builtin": "loop_guard", "mach": ["echo"]}"#, "mach"),
            (r#"{"name": "guard"}"#, "name"),
        ] {
            let refused = NewHook::parse(body.as_bytes()).unwrap_err();
            assert_eq!(
                (refused.code, refused.field.as_deref()),
                (ErrorCode::InvalidRequest, Some(field)),
                "{body}"
            );
            assert!(!refused.detail.contains("NewHook"), "{}", refused.detail);
        }
        assert_eq!(NewHook::parse(b"{}"), Ok(NewHook::default()));
        assert_eq!(NewHook::parse(b"").unwrap_err().code, ErrorCode::InvalidJson);
    }
}
