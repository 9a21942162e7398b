//! `agent_create_plan`: makes a plan, then runs, shows or reviews it as its mode says.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use super::acting::Acting;
use super::make::{make, take};
use super::review::review;
use super::rules::Draft;
use super::run::execute;
use super::told::summary;
use super::voice::Voice;
use crate::own::OwnCall;
use crate::toolbelt::arguments::{self, refused};
use crate::toolbelt::{ToolError, ToolSpec};
use crate::turn::Halt;
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use wire::protocol::{Event, ExecutionMode, Plan, PlanStatus};

pub const NAME: &str = "agent_create_plan";

/// The plan is a level, and its steps are levels below it.
pub(crate) const CALL: Own = Own {
    facts: OwnCall { root_only: true, stands_for_inner: true, ..OwnCall::composite(NAME, 2) },
    carrier: Carrier::Composite(&Create),
};

/// The longest objective and the longest note beside it, in characters, and the most notes in a list.
const MAX_OBJECTIVE: usize = 4_000;
const MAX_NOTE: usize = 500;
const MAX_NOTES: usize = 20;

/// The objective of a plan, and how to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    pub objective: String,
    pub mode: ExecutionMode,
    pub requested_outputs: Vec<String>,
    pub priority_entities: Vec<String>,
}

/// The arguments as the model writes them. An unknown mode means the default, and unknown members are
/// ignored.
#[derive(Deserialize)]
struct Arguments {
    objective: String,
    #[serde(default)]
    execution_mode: Option<serde_json::Value>,
    #[serde(default)]
    auto_execute: Option<bool>,
    #[serde(default)]
    requested_outputs: Vec<String>,
    #[serde(default)]
    priority_entities: Vec<String>,
}

/// Cuts a text to the length of an objective.
pub fn objective(text: &str) -> String {
    text.chars().take(MAX_OBJECTIVE).collect()
}

/// Reads and checks the arguments; the model reads the error.
pub fn intent(json: &str) -> Result<Intent, ToolError> {
    let Arguments { objective, execution_mode, auto_execute, requested_outputs, priority_entities } =
        arguments::read(&spec(), json)?;
    let refused = |at: &str, rule: String| Err(refused(&spec(), at, &rule));
    if objective.trim().is_empty() || objective.chars().nth(MAX_OBJECTIVE).is_some() {
        return refused("objective", format!("it must have 1 to {MAX_OBJECTIVE} characters"));
    }
    for (name, notes) in
        [("requested_outputs", &requested_outputs), ("priority_entities", &priority_entities)]
    {
        if notes.len() > MAX_NOTES || notes.iter().any(|note| note.chars().nth(MAX_NOTE).is_some()) {
            return refused(name, format!("at most {MAX_NOTES} texts of {MAX_NOTE} characters"));
        }
    }
    // The legacy alias counts only where the call names no mode.
    let mode = match (&execution_mode, auto_execute) {
        (None, Some(false)) => ExecutionMode::DraftOnly,
        (Some(named), _) => wire::json::from_value(named).unwrap_or_default(),
        (None, _) => ExecutionMode::default(),
    };
    Ok(Intent { objective, mode, requested_outputs, priority_entities })
}

pub fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Create;

impl Composite for Create {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        create(call).boxed_local()
    }
}

async fn create(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let acting = Acting { turn, parent, key };
    let intent = match intent(arguments) {
        Ok(intent) => intent,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let setting = &turn.spec.setting;
    let mut plan = Plan {
        id: turn.ids.plan(key),
        objective: intent.objective,
        reasoning: String::new(),
        context_type: turn.spec.context_type.clone(),
        entity_id: setting.entity_id.clone(),
        intent_label: None,
        execution_mode: intent.mode,
        requested_outputs: intent.requested_outputs,
        priority_entities: intent.priority_entities,
        status: PlanStatus::PendingReview,
        steps: Vec::new(),
        review: None,
        revision: 0,
        // The time of the turn's beginning: a replay makes the same plan.
        created_at: turn.spec.created_at,
    };
    let draft = match make(acting, &plan, None).await? {
        Ok(draft) => draft,
        // A swarm goes on with the task as its one step (S-031).
        Err(_) if Voice::of(turn) == Voice::Swarm => Draft::of_one(&plan.objective),
        Err(why) => return Ok(Outcome::of(Err(why))),
    };
    take(&mut plan, draft, turn);
    let created = match Voice::of(turn) {
        Voice::Plan => {
            Event::PlanCreated { tool_call_id: turn.ids.tool_call(key), plan: Box::new(plan.clone()) }
        }
        Voice::Swarm => {
            let steps = plan.steps.iter().map(|step| step.title.clone()).collect();
            Event::SwarmPlanReady { steps }
        }
    };
    match plan.execution_mode {
        ExecutionMode::AutoExecute => {
            acting.note(&mut plan, vec![("plan_created", created)])?;
            execute(acting, plan).await
        }
        ExecutionMode::DraftOnly => {
            let waits = Event::PlanReadyForReview { plan: Box::new(plan.clone()) };
            acting.note(&mut plan, vec![("plan_created", created), ("plan_ready", waits)])?;
            Ok(Outcome::of(Ok(summary(turn, key, &plan, &[]))))
        }
        ExecutionMode::AgentReview => {
            acting.note(&mut plan, vec![("plan_created", created)])?;
            review(acting, plan).await
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // B-036 B-037 B-038 B-039 B-040 B-041 B-088
    #[test]
    fn a_call_names_the_mode_of_its_plan() {
        let mode = |more: serde_json::Value| {
            let mut arguments = json!({"objective": "o"});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            intent(&arguments.to_string()).unwrap().mode
        };
        use ExecutionMode::{AgentReview, AutoExecute, DraftOnly};
        for (given, expected) in [
            (json!({}), AutoExecute),
            (json!({"auto_execute": true}), AutoExecute),
            (json!({"auto_execute": false}), DraftOnly),
            (json!({"execution_mode": "agent_review", "auto_execute": false}), AgentReview),
            (json!({"execution_mode": "draft_only"}), DraftOnly),
            (json!({"execution_mode": "at once"}), AutoExecute),
            (json!({"execution_mode": 7, "odd": []}), AutoExecute),
        ] {
            assert_eq!(mode(given.clone()), expected, "{given}");
        }
        for wrong in [r#"{}"#, r#"{"objective": " "}"#, r#"{"objective": [1]}"#] {
            assert!(intent(wrong).is_err(), "{wrong}");
        }
        assert!(intent(&json!({"objective": "o".repeat(MAX_OBJECTIVE)}).to_string()).is_ok());
        assert!(intent(&json!({"objective": "o".repeat(MAX_OBJECTIVE + 1)}).to_string()).is_err());
        let outputs = |count| json!({"objective": "o", "requested_outputs": vec!["x"; count]}).to_string();
        assert!(intent(&outputs(MAX_NOTES)).is_ok() && intent(&outputs(MAX_NOTES + 1)).is_err());
    }

    // B-036
    #[test]
    fn the_schema_has_its_members() {
        let schema: serde_json::Value = wire::json::from_str(spec().input_schema.0.get()).unwrap();
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            ["auto_execute", "execution_mode", "objective", "priority_entities", "requested_outputs"]
        );
        assert_eq!(schema["required"], json!(["objective"]));
        let modes = &schema["properties"]["execution_mode"]["enum"];
        assert_eq!(*modes, json!(["auto_execute", "draft_only", "agent_review"]));
    }
}
