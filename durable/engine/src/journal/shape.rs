//! The shape in which a request wants the answer of its turn.

use serde::{Deserialize, Serialize};

use crate::toolbelt::ToolSpec;

/// The shape of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AnswerShape {
    /// The call that gives the answer as JSON, which satisfies its input schema. Without it the answer is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ToolSpec>,
    /// The client's tools of which the root calls one before it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// The message to a model that answered in prose before.
    #[serde(default)]
    pub reminder: String,
}
