//! The start of a child level, journaled with its first model call. A level that has begun therefore keeps
//! its prompt, tools and models through a deploy in mid-turn.

use serde::{Deserialize, Serialize};

use super::PastId;
use crate::plan::rules::PlanRules;
use crate::profiles::Role;
use crate::toolbelt::ToolSpec;
use wire::protocol::{Content, Hook};

/// The start of a child level. The turn's limits and policy stand in entry 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LevelSpec {
    /// The system prompt.
    pub system: String,
    /// The level's first message.
    pub instructions: Content,
    /// The role whose models, frozen in entry 0, the level asks; none for the turn's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Role>,
    /// The number of the toolset that the level shares with others; none where it shares no tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset: Option<u32>,
    /// The tools that only this level has. `finish_subtask` is one of them where the level ends with JSON;
    /// the level's result must then satisfy its input schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_tools: Vec<ToolSpec>,
    /// The rules for a plan, beside that schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<PlanRules>,
    /// The message to a model that answered in prose where only a call ends the level.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reminder: String,
    /// The model calls that the level may make.
    #[serde(default)]
    pub iterations: u32,
    /// Whether the level returns its partial result when its model calls are used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The tools that the caller named and does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The last of the earlier turns that the level's text takes the place of; none in a level that makes no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<PastId>,
    /// The name of the agent that the level is; none for any other level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The hooks that the agent had made before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
}

impl LevelSpec {
    /// A level whose model has this prompt, this first message, and so many calls. It has no tools.
    pub(crate) fn new(
        models: Option<Role>,
        system: impl Into<String>,
        instructions: impl Into<Content>,
        iterations: u32,
    ) -> LevelSpec {
        LevelSpec {
            system: system.into(),
            instructions: instructions.into(),
            models,
            toolset: None,
            own_tools: Vec::new(),
            rules: None,
            reminder: String::new(),
            iterations,
            partial: false,
            left_out: Vec::new(),
            covers: None,
            agent: None,
            hooks: Vec::new(),
        }
    }

    /// A level that asks no model: the service makes its calls.
    pub(crate) fn unasked(iterations: u32) -> LevelSpec {
        LevelSpec::new(None, "", "", iterations)
    }
}
