//! The execution tree: the compact record of a turn's tool calls that is stored with its message.

use serde::{Deserialize, Serialize};

use super::{ClientInstructions, Decision, ModelCost, Plan, TreeHook, TreeInstructions};
use crate::model::Usage;

/// The longest preview of arguments or of a result, in characters (requirement N-126).
pub const PREVIEW_CHARS: usize = 500;

/// A flat list of nodes in the order in which the calls started; `parent_id` gives the nesting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ExecutionTree {
    /// Always 1.
    pub version: u32,
    pub nodes: Vec<TreeNode>,
    /// How many of the last nodes the service left out, because the tree exceeded the limit of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<u32>,
    /// The plans that the turn made, carried out or changed, in their state at its end. Each step that began is a node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<Plan>,
    /// The turn's model calls in the order in which they ended. Trees stored by earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_calls: Vec<TreeModelCall>,
    /// The custom instructions that the turn began with, the user's before the project's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<TreeInstructions>,
    /// The instructions that the client gave for the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub client_instructions: Option<ClientInstructions>,
}

impl Default for ExecutionTree {
    fn default() -> Self {
        ExecutionTree {
            version: 1,
            nodes: Vec::new(),
            omitted: None,
            plans: Vec::new(),
            model_calls: Vec::new(),
            instructions: Vec::new(),
            client_instructions: None,
        }
    }
}

/// One tool call, or one question to a hook. A `run_subtask` node contains the calls of its level and has a title.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TreeNode {
    /// The `tool_call_id`, or the `hook_call_id`.
    pub id: String,
    /// The `tool_call_id` of the nearest enclosing `run_subtask`.
    pub parent_id: Option<String>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_preview: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The turn's running time when the call started, in milliseconds. Trees stored by earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<u64>,
    pub duration_ms: u64,
    /// On a `run_subtask` node: the usage of its model calls, including those of its own subtasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ModelCost>,
    /// On a call that needed a person's permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// On a call that cost money beside the turn's models: its cost, absent if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// On a hook: its verdict. Such a node has the hook's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<TreeHook>,
}

/// One model call, with the values of its `model_call_update` events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TreeModelCall {
    /// The `model_call_id`.
    pub id: String,
    /// The `tool_call_id` of the call whose level asked the model; null at the root.
    pub parent_id: Option<String>,
    pub model: String,
    /// The turn's running time when the call started, in milliseconds.
    pub started_ms: u64,
    /// The time from the start to the first word of the answer, in milliseconds. Absent if the call was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    pub duration_ms: u64,
    /// Absent if the provider has not told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Absent if the usage or the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub finish_reason: String,
    /// The agent that asked the model; absent for `main` and for levels that are no agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The first [`PREVIEW_CHARS`] characters. A cut text ends with an ellipsis, which counts.
pub fn preview(text: &str) -> String {
    beginning(text, PREVIEW_CHARS)
}

/// The first characters of a text, at least one. A cut text ends with an ellipsis, which counts.
pub fn beginning(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars - 1).chain(['…']).collect(),
    }
}
