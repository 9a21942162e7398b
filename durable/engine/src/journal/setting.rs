//! The settings that a turn takes from its chat context, frozen with the rest of entry 0, and the purposes of
//! levels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentLife, AgentSetting, AnswerShape, Session};
use crate::profiles::{Chain, Role};
use crate::toolbelt::ToolSpec;
use wire::model::Message;
use wire::protocol::{BrowserContext, ClientInstructions, Hook, ModeProfile, Plan, TreeInstructions};
use wire::time::{local, rfc3339};

/// The part of [`super::TurnSpec`] that its context decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Setting {
    /// The `operation_type` of the root's model calls.
    pub operation: String,
    /// The subject of the turn, such as a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The tool that the turn must call to reach its goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The planner's guidance in this context.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub planning: String,
    /// The tools that the steps of a plan must use, in this order; one that ends in `?` may be left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan_tools: Vec<String>,
    /// The plan of an earlier turn that waits for the user's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Box<Plan>>,
    /// The chat context in which that plan was made. None where it is the turn's own, and in a turn of former code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_context: Option<DraftContext>,
    /// The mode in which the request asks the turn to begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeProfile>,
    /// The call that the service makes in place of the root's model, where the message asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<DirectCall>,
    /// The model calls of a root that the router judged simple.
    pub simple_iterations: u32,
    /// The page that the user has open beside the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<BrowserContext>,
    /// The time at the turn's start where the user is; none where the request names no time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_time: Option<LocalTime>,
    /// The models that review plans, where they differ from the turn's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Chain>,
    /// The models by role that the router may choose for the root, and those that judge the steps of a session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub routed: BTreeMap<Role, Chain>,
    /// How turns that leave the model's view are summarised; none where they leave without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summaries: Option<Summaries>,
    /// The hooks of the root, in the order in which they are asked. Other levels have copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// The operator's among the hooks. None where there are none, and in a turn that former code began: its hooks ask the
    /// turn's own models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<Guards>,
    /// Whether agents may make hooks of their own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agent_hooks: bool,
    /// Whether somebody can fill in the forms of tools: the client of the turn knows them, and there is a tool that may ask.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forms: bool,
    /// The agents of the thread; none in a turn whose request asks for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentSetting>,
    /// The life of `main` as earlier turns left it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<Box<AgentLife>>,
    /// The session of a workflow on which the turn works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
    /// The custom instructions of the turn, as the tree shows them. The system prompt has the texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<TreeInstructions>,
    /// The client's instructions for the turn, in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_instructions: Option<ClientInstructions>,
    /// The shape of the answer, where the request wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Box<AnswerShape>>,
}

/// A call that the message of a turn asks for. No model is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DirectCall {
    pub tool: String,
    pub arguments: String,
}

/// The chat context of a waiting plan, in a turn of another context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DraftContext {
    /// No context has the plan's name for it any more. The plan can only be dropped.
    Gone,
    Found(Box<PlanContext>),
}

/// The part of a chat context that holds while the steps of its plan run, and while its plan is made anew. All else of the
/// turn follows the turn's own context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlanContext {
    /// The tools that the context has beside those of the turn, as the turn's policy allows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_tools: Vec<ToolSpec>,
    /// The names of the turn's tools that the context lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fewer_tools: Vec<String>,
    /// As in [`Setting`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub planning: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan_tools: Vec<String>,
    /// The stricter ones of both contexts: model calls of a step, and milliseconds of a step and of all of them.
    pub step_iterations: u32,
    pub step_ms: u64,
    pub plan_ms: u64,
}

/// A time in the time zone of a person.
///
/// The zone of a request becomes a text at the turn's start (`compose.rs`, `LocalTime`), which entry 0 freezes. The
/// clock knows the zones (`Clock::utc_offset_minutes`, by the platform's `Intl`), so a replay needs none. The text
/// stands in a message of the root's own before the user's (`LevelStart::preface`), and not in the prompt, which would
/// change with each turn. So it is a part of the history, and a later turn's request begins as this turn's did;
/// retrieved texts are none, and end what a provider's cache has there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LocalTime {
    /// A name of the IANA time zone database.
    pub time_zone: String,
    /// The time there and in UTC, in words. A turn that goes on says the same time, whatever the database says by then.
    pub text: String,
}

impl LocalTime {
    /// The beginning of [`LocalTime::message`].
    pub const MARK: &str = "[Added by the service: the time of the next message is ";

    /// A time in milliseconds since 1970, in a zone whose clocks are so many minutes ahead of UTC. None beyond the year
    /// 9999.
    pub fn new(ms: u64, time_zone: &str, offset_minutes: i32) -> Option<Self> {
        let (there, day) = local(ms, offset_minutes)?;
        let text = format!("{there} ({day}, {time_zone}), {} (UTC)", rfc3339(ms)?);
        Some(LocalTime { time_zone: time_zone.to_owned(), text })
    }

    /// The message that tells a model when a person said the next one.
    pub fn message(&self) -> Message {
        let content = [Self::MARK, &self.text, ".]"].concat();
        Message::User { content: content.into() }
    }
}

/// The operator's hooks of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Guards {
    /// How many of the turn's hooks, from the first on, are the operator's.
    pub hooks: usize,
    /// The models by which they judge, where they differ from the turn's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Chain>,
}

/// The way in which a turn summarises earlier turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Summaries {
    /// The models that write the summaries, where they differ from the turn's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Chain>,
}

impl Setting {
    /// The models of the turn beside its own and those of subtasks.
    pub fn chains(&self) -> impl Iterator<Item = &Chain> {
        let of_guards = self.guards.iter().filter_map(|guards| guards.models.as_ref());
        let of_summaries = self.summaries.iter().filter_map(|summaries| summaries.models.as_ref());
        self.reviewers.iter().chain(self.routed.values()).chain(of_guards).chain(of_summaries)
    }
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            direct: None,
            operation: "chat".to_owned(),
            entity_id: None,
            goal: None,
            planning: String::new(),
            plan_tools: Vec::new(),
            draft: None,
            draft_context: None,
            mode: None,
            simple_iterations: 0,
            browser: None,
            local_time: None,
            reviewers: None,
            routed: BTreeMap::new(),
            summaries: None,
            hooks: Vec::new(),
            guards: None,
            agent_hooks: false,
            forms: false,
            agents: None,
            life: None,
            session: None,
            instructions: Vec::new(),
            client_instructions: None,
            shape: None,
        }
    }
}

/// The purpose of a level. It selects the level's models and the `operation_type` of its model calls in the
/// telemetry.
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
    /// Routes a request.
    Route,
    /// Summarises earlier turns.
    Summary,
    /// Judges for a hook.
    Hook,
    /// Answers as an agent.
    Agent,
    /// Judges the work of a workflow's step.
    Verify,
    /// Writes the notes of a planned step.
    Notes,
    /// Reads content for a call. It asks no model.
    Read,
}

impl Work {
    /// The role whose models do this work; none for the turn's own.
    pub fn models(self) -> Option<Role> {
        match self {
            Work::Subtask | Work::Step | Work::Agent => Some(Role::Subagent),
            Work::Review => Some(Role::Quality),
            Work::Summary => Some(Role::Speed),
            Work::Root | Work::Plan | Work::Route | Work::Hook | Work::Verify | Work::Notes | Work::Read => {
                None
            }
        }
    }

    /// Whether hooks watch the level. Levels that only answer one question act on nothing, and hooks have no hooks.
    pub(crate) fn has_hooks(self) -> bool {
        match self {
            Work::Root | Work::Subtask | Work::Step | Work::Agent | Work::Read => true,
            Work::Plan
            | Work::Review
            | Work::Route
            | Work::Summary
            | Work::Hook
            | Work::Verify
            | Work::Notes => false,
        }
    }
}
