//! `agent_update_plan`: runs, changes or drops the plan that waits for the user's decision.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use super::acting::Acting;
use super::make::{make, take};
use super::run::execute;
use super::told::summary;
use crate::journal::DraftContext;
use crate::own::OwnCall;
use crate::toolbelt::arguments::{self, refused};
use crate::toolbelt::{ToolError, ToolSpec};
use crate::turn::Halt;
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use wire::protocol::{Event, PlanStatus};

pub const NAME: &str = "agent_update_plan";

/// The plan is a level, and its steps are levels below it.
pub(crate) const CALL: Own = Own {
    facts: OwnCall { root_only: true, stands_for_inner: true, ..OwnCall::composite(NAME, 2) },
    carrier: Carrier::Composite(&Update),
};

/// The longest description of a change, in characters.
const MAX_CHANGES: usize = 4_000;

/// The user's decision on the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Run,
    Change,
    Drop,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Arguments {
    pub plan_id: String,
    pub action: Action,
    /// The changes that the user wants, in words.
    #[serde(default)]
    pub changes: String,
}

/// Reads and checks the arguments; the model reads the error.
pub fn arguments(json: &str) -> Result<Arguments, ToolError> {
    let arguments: Arguments = arguments::read(&spec(), json)?;
    let blank = arguments.changes.trim().is_empty();
    if arguments.action == Action::Change && (blank || arguments.changes.chars().nth(MAX_CHANGES).is_some()) {
        let rule = format!("it must say in 1 to {MAX_CHANGES} characters what to change");
        return Err(refused(&spec(), "changes", &rule));
    }
    Ok(arguments)
}

/// The declaration.
pub fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Update;

impl Composite for Update {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        update(call).boxed_local()
    }
}

async fn update(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let acting = Acting { turn, parent, key };
    let arguments = match self::arguments(arguments) {
        Ok(arguments) => arguments,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    // The draft is always a plan of an earlier turn: the user has not yet answered a plan of this turn.
    let Some(draft) = turn.spec.setting.draft.as_deref().filter(|draft| draft.id == arguments.plan_id) else {
        let known = turn.spec.setting.draft.as_ref().map_or("none", |draft| draft.id.as_str());
        return Ok(Outcome::of(Err(ToolError(format!(
            "this plan does not wait for the user's word; waiting: {known}"
        )))));
    };
    let mut plan = turn.record.borrow().plans.before(&draft.id, key).unwrap_or_else(|| draft.clone());
    if plan.status != PlanStatus::PendingReview {
        return Ok(Outcome::of(Err(ToolError(
            "this plan does not wait for the user's word any more".to_owned(),
        ))));
    }
    let is_gone = matches!(turn.spec.setting.draft_context, Some(DraftContext::Gone));
    if is_gone && arguments.action != Action::Drop {
        return Ok(Outcome::of(Err(ToolError(format!(
            "this plan was made in the chat context {:?}, which does not exist any more: drop it, and make another one",
            plan.context_type
        )))));
    }
    match arguments.action {
        Action::Run => execute(acting, plan).await,
        Action::Drop => {
            plan.status = PlanStatus::Dropped;
            acting.note(&mut plan, Vec::new())?;
            Ok(Outcome::of(Ok(summary(turn, key, &plan, &[]))))
        }
        Action::Change => {
            let changed = match make(acting, &plan, Some(&arguments.changes)).await? {
                Ok(draft) => draft,
                Err(why) => return Ok(Outcome::of(Err(why))),
            };
            take(&mut plan, changed, turn);
            plan.review = None;
            let waits = Event::PlanReadyForReview { plan: Box::new(plan.clone()) };
            acting.note(&mut plan, vec![("plan_ready", waits)])?;
            Ok(Outcome::of(Ok(summary(turn, key, &plan, &[]))))
        }
    }
}
