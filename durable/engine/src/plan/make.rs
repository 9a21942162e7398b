//! Has a level make a plan, or make it anew with changes.

use super::acting::Acting;
use super::context;
use super::prompt;
use super::rules::{self, Draft, PlanRules};
use crate::calls::question::{Question, ask, replies};
use crate::journal::Work;
use crate::ports::ToolError;
use crate::record::keys::LevelPath;
use crate::turn::{Halt, LevelEnd, Turn};
use wire::protocol::Plan;

/// Puts a draft into its plan.
pub(super) fn take(plan: &mut Plan, draft: Draft, turn: &Turn) {
    plan.reasoning.clone_from(&draft.reasoning);
    plan.intent_label.clone_from(&draft.intent_label);
    let (_, plan_tools) = context::planning(&turn.spec, &plan.id);
    plan.steps = draft.into_steps(!plan_tools.is_empty());
}

/// Has the planner make a plan. Objections to the plan go back to the planner, a few times.
pub(super) async fn make(
    Acting { turn, parent, key }: Acting<'_>,
    plan: &Plan,
    changes: Option<&str>,
) -> Result<Result<Draft, ToolError>, Halt> {
    let question = || {
        let setting = &turn.spec.setting;
        let (planning, plan_tools) = context::planning(&turn.spec, &plan.id);
        let of_steps = context::tools(turn, parent, &plan.id);
        let described: Vec<String> =
            of_steps.iter().map(|spec| format!("{}: {}", spec.name, spec.description)).collect();
        let text = prompt::objective(&prompt::Wanted {
            objective: &plan.objective,
            requested_outputs: &plan.requested_outputs,
            priority_entities: &plan.priority_entities,
            entity_id: plan.entity_id.as_deref(),
            browser: setting.browser.as_ref(),
            tools: &described,
            changed: changes.map(|changes| (plan, changes)),
        });
        let rules = PlanRules {
            tools: of_steps.iter().map(|spec| spec.name.clone()).collect(),
            required: plan_tools.to_vec(),
        };
        Question {
            models: Work::Plan.models(),
            system: prompt::planner(planning, plan_tools),
            text,
            schema: rules::schema(),
            rules: Some(rules),
            replies: replies(turn),
        }
    };
    let refused = |why: String| {
        let why = format!("no plan was made: {why}. Change the objective, or do the work without a plan.");
        Ok(Err(ToolError(why)))
    };
    match ask(turn, parent, key, LevelPath::planner(key), question).await? {
        LevelEnd::Structured(json) => match wire::json::from_str(&json) {
            Ok(draft) => Ok(Ok(draft)),
            Err(error) => refused(error.to_string()),
        },
        LevelEnd::SchemaNotSatisfied(objection) => refused(objection),
        LevelEnd::ModelFailed(error) => refused(format!("{}: {}", error.kind.code(), error.message)),
        LevelEnd::Text { .. }
        | LevelEnd::IterationLimit(_)
        | LevelEnd::Partial(_)
        | LevelEnd::Blocked { .. } => refused("the planner came to no end".to_owned()),
    }
}
