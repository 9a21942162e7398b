//! Levels that answer one question with JSON: the planner, the reviewer, the router, a hook.

use std::rc::Rc;

use super::finish;
use crate::journal::LevelSpec;
use crate::plan::rules::PlanRules;
use crate::ports::ToolError;
use crate::profiles::Role;
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::toolbelt::Toolbelt;
use crate::turn::{Halt, Level, LevelEnd, Turn, drive};
use wire::model::RawValueEq;

/// The question for a level.
pub(crate) struct Question {
    /// The role whose models answer; none for the turn's own.
    pub(crate) models: Option<Role>,
    pub(crate) system: String,
    pub(crate) text: String,
    pub(crate) schema: serde_json::Value,
    pub(crate) rules: Option<PlanRules>,
    /// How many replies the level may give.
    pub(crate) replies: u32,
}

/// Opens a level that ends with JSON. It has no tools and reads only its question. `question` runs only for a
/// level that the journal does not know.
pub(crate) async fn ask(
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
        own_tools: vec![finish::spec(&Rc::new(schema))],
        rules: question.rules,
        reminder: finish::REMINDER.to_owned(),
        ..LevelSpec::new(question.models, question.system, question.text, question.replies)
    };
    Ok(Opening { spec, shared: Toolbelt::new([]) })
}

/// The replies of such a level: the wrong ones that are forgiven, one more, and one in prose.
pub(crate) fn replies(turn: &Turn) -> u32 {
    turn.spec.limits.schema_retries.saturating_add(2)
}
