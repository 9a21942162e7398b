//! Levels that are asked one thing and end with JSON: the planner, the reviewer, the router.

use std::rc::Rc;

use super::super::drive::drive;
use super::super::keys::LevelPath;
use super::super::machine::{Level, LevelEnd, LevelStart};
use super::super::{Halt, Turn, prompt};
use crate::journal::Work;
use crate::model::RawValueEq;
use crate::plans::Rules;
use crate::profiles::Limits;
use crate::protocol::Place;
use crate::toolbelt::{OutputSchema, Toolbelt};
use crate::tools::finish_subtask;
use crate::tools::route_request::{self, RouteDecision};

/// What a level is asked.
pub(super) struct Question {
    pub(super) work: Work,
    pub(super) path: LevelPath,
    pub(super) system: Rc<str>,
    pub(super) text: String,
    pub(super) schema: serde_json::Value,
    pub(super) rules: Option<Rules>,
    /// How many replies it has.
    pub(super) replies: u32,
}

/// A level that ends with JSON: it has no tools, and nothing to read but what it is asked.
pub(super) async fn ask(
    turn: &Turn,
    parent: &Level,
    key: &str,
    question: Question,
) -> Result<LevelEnd, Halt> {
    let raw = serde_json::value::to_raw_value(&question.schema).map(RawValueEq);
    let schema = raw.map_err(|error| error.to_string()).and_then(|raw| OutputSchema::compile(Rc::new(raw)));
    let schema = match schema {
        Ok(schema) => Rc::new(schema),
        Err(problem) => return Ok(LevelEnd::SchemaNotSatisfied(problem)),
    };
    let limits = Limits { iterations: question.replies, ..turn.spec.limits };
    let start = LevelStart {
        path: question.path,
        place: Place { parent_id: Some(turn.ids.tool_call(key)), depth: parent.place.depth + 1 },
        model: Rc::clone(&turn.spec.chain_for(question.work).first.choice),
        system: question.system,
        history: Vec::new(),
        instructions: question.text.into(),
        belt: Toolbelt::new([finish_subtask::spec(schema.source())]),
        schema: Some(schema),
        rules: question.rules,
        partial: false,
        memory: parent.memory.fork(),
        digest: parent.digest().with(key),
    };
    let mut level = Level::new(start, limits);
    drive(turn, &mut level).await
}

impl Turn {
    /// As many replies as a level may be wrong in, and one that only talks.
    pub(super) fn replies(&self) -> u32 {
        self.spec.limits.schema_retries.saturating_add(2)
    }
}

/// Decides which way a request goes: one call, and whatever comes of it, a decision.
pub(in crate::turn) async fn route(turn: &Turn, parent: &Level, key: &str) -> Result<String, Halt> {
    let question = Question {
        work: Work::Route,
        path: LevelPath::router(key),
        system: prompt::ROUTER.into(),
        text: turn.spec.content.text().into_owned(),
        schema: route_request::schema(),
        rules: None,
        replies: 1,
    };
    let decision = match ask(turn, parent, key, question).await? {
        LevelEnd::Structured(json) => serde_json::from_str::<RouteDecision>(&json).ok(),
        _ => None,
    };
    let decision = decision.unwrap_or_else(|| RouteDecision::fallback("its answer was not understood"));
    Ok(serde_json::to_string(&decision).unwrap_or_default())
}
