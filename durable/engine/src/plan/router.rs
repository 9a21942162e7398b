//! `route_request`: chooses the models and the amount of work for a request that asks for routing. The
//! service calls it once, before anything else. It makes one model call and always returns a decision.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::prompt;
use crate::calls::question::{Question, ask};
use crate::journal::{ToolEnd, Work};
use crate::own::{OwnCall, Settled};
use crate::profiles::Role;
use crate::record::keys::LevelPath;
use crate::toolbelt::ToolSpec;
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, LevelEnd};

pub const NAME: &str = "route_request";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { settles: Some(settles), ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Route),
};

/// A decision sets the models of the root.
fn settles(_: &str, end: &ToolEnd) -> Option<Settled> {
    (!end.is_error).then(|| Settled::Route(role(&end.content)))
}

/// The role whose models suit a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteRole {
    Primary,
    Secondary,
    Subagent,
}

/// The amount of work in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    Simple,
    Complex,
}

/// The router's decision, made in one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteDecision {
    pub role: RouteRole,
    pub complexity: Complexity,
    pub reason: String,
}

impl RouteDecision {
    /// The decision when the router fails (S-009).
    pub fn fallback(why: &str) -> Self {
        let reason = format!("the router gave no decision: {why}");
        RouteDecision { role: RouteRole::Primary, complexity: Complexity::Simple, reason }
    }
}

/// The schema of the decision.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {"enum": ["primary", "secondary", "subagent"]},
            "complexity": {"enum": ["simple", "complex"]},
            "reason": {"type": "string", "maxLength": 500},
        },
        "required": ["role", "complexity", "reason"],
        "additionalProperties": false,
    })
}

/// The role that a call's result names; none for the turn's own models.
fn role(result: &str) -> Option<Role> {
    match wire::json::from_str::<RouteDecision>(result).ok()?.role {
        RouteRole::Primary => None,
        RouteRole::Secondary => Some(Role::Secondary),
        RouteRole::Subagent => Some(Role::Subagent),
    }
}

/// Whether a call's result says that the request is complex.
pub(super) fn is_complex(result: &str) -> bool {
    let decision = wire::json::from_str::<RouteDecision>(result);
    decision.is_ok_and(|decision| decision.complexity == Complexity::Complex)
}

/// The declaration, for the root's opening alone.
pub(super) fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Route;

impl Composite for Route {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        route(call).boxed_local()
    }
}

async fn route(Running { turn, parent, key, .. }: Running<'_>) -> Result<Outcome, Halt> {
    let question = || Question {
        models: Work::Route.models(),
        system: prompt::ROUTER.to_owned(),
        text: turn.spec.content.text().into_owned(),
        schema: schema(),
        rules: None,
        replies: 1,
    };
    let decision = match ask(turn, parent, key, LevelPath::router(key), question).await? {
        LevelEnd::Structured(json) => wire::json::from_str::<RouteDecision>(&json).ok(),
        _ => None,
    };
    let decision = decision.unwrap_or_else(|| RouteDecision::fallback("its answer was not understood"));
    Ok(Outcome::of(Ok(serde_json::to_string(&decision).unwrap_or_default())))
}
