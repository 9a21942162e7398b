//! What a turn's chat context gives to it, frozen with the rest of entry 0; and what a level is for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::profiles::{Chain, Role};
use wire::protocol::{BrowserContext, ModeProfile, Plan};

/// The part of [`super::TurnSpec`] that its context decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Setting {
    /// The `operation_type` of the root's model calls.
    pub operation: String,
    /// What the turn is about, such as a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The tool without which the turn has not come to what it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// What a planner is told of this context.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub planning: String,
    /// The tools that the steps of a plan must use, in this order; one that ends in `?` may be left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan_tools: Vec<String>,
    /// The plan of an earlier turn that waits for the user's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Box<Plan>>,
    /// How the turn begins, where the request says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeProfile>,
    /// Model calls of the root where it was routed as simple.
    pub simple_iterations: u32,
    /// What the user has open beside the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<BrowserContext>,
    /// Who reviews plans, where they are other models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Chain>,
    /// The models by role that the router may choose for the root.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub routed: BTreeMap<Role, Chain>,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            operation: "chat".to_owned(),
            entity_id: None,
            goal: None,
            planning: String::new(),
            plan_tools: Vec::new(),
            draft: None,
            mode: None,
            simple_iterations: 0,
            browser: None,
            reviewers: None,
            routed: BTreeMap::new(),
        }
    }
}

/// What a level is for: it decides whose models it asks and what its calls are called in the telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Root,
    Subtask,
    /// Makes a plan.
    Plan,
    /// Reviews one.
    Review,
    /// A step of one.
    Step,
    /// Decides which way a request goes.
    Route,
}

impl Work {
    /// Whose models do this work; none for the turn's own.
    pub fn models(self) -> Option<Role> {
        match self {
            Work::Subtask | Work::Step => Some(Role::Subagent),
            Work::Review => Some(Role::Quality),
            Work::Root | Work::Plan | Work::Route => None,
        }
    }
}
