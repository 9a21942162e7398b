//! Levels that answer one question with JSON: the planner, the reviewer, the router.

use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::super::composite::{Composite, Outcome, Running};
use super::super::drive::drive;
use super::super::frozen::Opening;
use super::super::keys::LevelPath;
use super::super::machine::{Level, LevelEnd};
use super::super::{Halt, Turn, prompt};
use crate::calls::finish_subtask;
use crate::calls::route_request::{self, RouteDecision};
use crate::journal::{LevelSpec, Work};
use crate::plans::Rules;
use crate::ports::ToolError;
use crate::toolbelt::Toolbelt;
use wire::model::RawValueEq;

/// The question for a level.
pub(super) struct Question {
    pub(super) work: Work,
    pub(super) system: String,
    pub(super) text: String,
    pub(super) schema: serde_json::Value,
    pub(super) rules: Option<Rules>,
    /// How many replies the level may give.
    pub(super) replies: u32,
}

/// Opens a level that ends with JSON. It has no tools and reads only its question. `question` runs only for a
/// level that the journal does not know.
pub(super) async fn ask(
    turn: &Turn,
    parent: &Level,
    key: &str,
    path: LevelPath,
    question: impl FnOnce() -> Question,
) -> Result<LevelEnd, Halt> {
    match turn.open(parent, key, path, || opening(question())) {
        Ok(mut level) => drive(turn, &mut level).await,
        Err(ToolError(problem)) => Ok(LevelEnd::SchemaNotSatisfied(problem)),
    }
}

fn opening(question: Question) -> Result<Opening, ToolError> {
    let schema = serde_json::value::to_raw_value(&question.schema).map(RawValueEq);
    let schema = schema.map_err(|error| ToolError(error.to_string()))?;
    let spec = LevelSpec {
        system: question.system,
        instructions: question.text.into(),
        models: question.work.models(),
        toolset: None,
        own_tools: vec![finish_subtask::spec(&Rc::new(schema))],
        rules: question.rules,
        reminder: prompt::MUST_FINISH.to_owned(),
        iterations: question.replies,
        partial: false,
        left_out: Vec::new(),
    };
    Ok(Opening { spec, shared: Toolbelt::new([]) })
}

impl Turn {
    /// The replies of such a level: the wrong ones that are forgiven, one more, and one in prose.
    pub(super) fn replies(&self) -> u32 {
        self.spec.limits.schema_retries.saturating_add(2)
    }
}

/// `route_request`: decides which way a request goes. It makes one model call and always returns a decision.
pub(in crate::turn) struct Route;

impl Composite for Route {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        route(call).boxed_local()
    }
}

async fn route(Running { turn, parent, key, .. }: Running<'_>) -> Result<Outcome, Halt> {
    let question = || Question {
        work: Work::Route,
        system: prompt::ROUTER.to_owned(),
        text: turn.spec.content.text().into_owned(),
        schema: route_request::schema(),
        rules: None,
        replies: 1,
    };
    let decision = match ask(turn, parent, key, LevelPath::router(key), question).await? {
        LevelEnd::Structured(json) => serde_json::from_str::<RouteDecision>(&json).ok(),
        _ => None,
    };
    let decision = decision.unwrap_or_else(|| RouteDecision::fallback("its answer was not understood"));
    Ok(Outcome::of(Ok(serde_json::to_string(&decision).unwrap_or_default())))
}
