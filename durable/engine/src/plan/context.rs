//! The chat context in which a plan is made and run: that of its turn, or the one of the waiting plan on which the turn acts.
//!
//! The user's word on a plan may come in a turn of another context, or of none. The plan's own context then holds for the
//! plan's levels alone. The turn's context decides everything else: the root, the models, the policy, the limits of the turn.

use crate::journal::{DraftContext, PlanContext, TurnSpec};
use crate::profiles::Limits;
use crate::toolbelt::Toolbelt;
use crate::turn::{Level, Turn};

/// The context of a plan, where it is not the turn's own.
fn of_draft<'a>(spec: &'a TurnSpec, plan_id: &str) -> Option<&'a PlanContext> {
    let is_draft = spec.setting.draft.as_ref().is_some_and(|draft| draft.id == plan_id);
    match spec.setting.draft_context.as_ref().filter(|_| is_draft)? {
        DraftContext::Found(context) => Some(context),
        DraftContext::Gone => None,
    }
}

/// The limits of a plan's levels.
pub(super) fn limits(spec: &TurnSpec, plan_id: &str) -> Limits {
    let Some(context) = of_draft(spec, plan_id) else { return spec.limits };
    let PlanContext { step_iterations, step_ms, plan_ms, .. } = *context;
    Limits { step_iterations, step_ms, plan_ms, ..spec.limits }
}

/// The planner's guidance, and the tools that the plan's steps must use.
pub(super) fn planning<'a>(spec: &'a TurnSpec, plan_id: &str) -> (&'a str, &'a [String]) {
    match of_draft(spec, plan_id) {
        Some(context) => (&context.planning, &context.plan_tools),
        None => (&spec.setting.planning, &spec.setting.plan_tools),
    }
}

/// The tools of a plan's steps, in a call of `parent`.
pub(super) fn tools(turn: &Turn, parent: &Level, plan_id: &str) -> Toolbelt {
    let shared = parent.belt.without(|name| turn.facts().kept_from_subtasks(name));
    let Some(context) = of_draft(&turn.spec, plan_id) else { return shared };
    let lacks = |name: &str| context.fewer_tools.iter().any(|fewer| fewer == name);
    shared.without(lacks).with(context.more_tools.iter().cloned())
}
