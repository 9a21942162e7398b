//! Has a level review a plan before it runs.

use serde::Deserialize;

use super::acting::Acting;
use super::prompt;
use super::rules;
use super::run::execute;
use super::told::summary;
use crate::calls::question::{Question, ask, replies};
use crate::journal::Work;
use crate::ports::ToolError;
use crate::record::keys::LevelPath;
use crate::turn::composite::Outcome;
use crate::turn::{Halt, LevelEnd};
use wire::protocol::{Event, Plan, PlanReview, PlanStatus, Verdict};

#[derive(Deserialize)]
struct Reviewed {
    verdict: Verdict,
    #[serde(default)]
    notes: String,
}

/// Has a plan reviewed. The plan runs only on an approval (B-050).
pub(super) async fn review(acting: Acting<'_>, mut plan: Plan) -> Result<Outcome, Halt> {
    let Acting { turn, parent, key } = acting;
    let question = || Question {
        models: Work::Review.models(),
        system: prompt::REVIEWER.to_owned(),
        text: prompt::review(&plan),
        schema: rules::review_schema(),
        rules: None,
        replies: replies(turn),
    };
    let reviewed = match ask(turn, parent, key, LevelPath::reviewer(key), question).await? {
        LevelEnd::Structured(json) => wire::json::from_str::<Reviewed>(&json).ok(),
        _ => None,
    };
    let Some(Reviewed { verdict, notes }) = reviewed else {
        let waits = Event::PlanReadyForReview { plan: Box::new(plan.clone()) };
        acting.note(&mut plan, vec![("plan_ready", waits)])?;
        return Ok(Outcome::of(Err(ToolError(summary(turn, key, &plan, &[])))));
    };
    let told = Event::PlanReview { plan_id: plan.id.clone(), verdict, notes: notes.clone() };
    plan.review = Some(PlanReview { verdict, notes });
    if verdict == Verdict::Rejected {
        plan.status = PlanStatus::Rejected;
    }
    acting.note(&mut plan, vec![("plan_review", told)])?;
    match verdict {
        Verdict::Approved => execute(acting, plan).await,
        Verdict::NeedsChanges | Verdict::Rejected => Ok(Outcome::of(Ok(summary(turn, key, &plan, &[])))),
    }
}
