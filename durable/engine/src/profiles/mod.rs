//! Profiles as data: the limits of a turn, its chat context and its models.

use serde::{Deserialize, Serialize};

use wire::protocol::TurnLimits;

mod contexts;
mod models;
mod price;

pub use contexts::ContextProfile;
pub use models::{Chain, MostTokens, PricedModel, Role};
pub use price::{Price, Rates, ServiceTiers, Tier};

/// The end of a turn's budget: the turn ends there, or asks a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    #[default]
    End,
    /// The turn waits for a person, who may grant it the same budget once more.
    Ask,
}

impl OnLimit {
    fn is_end(&self) -> bool {
        *self == OnLimit::End
    }
}

/// How often a person may grant a turn its budget once more. The operator's ceiling of a turn is therefore four times its
/// limits.
pub const MAX_GRANTS: u32 = 3;

/// The limits of one turn over its whole tree. Their values stand in `*.toml` beside this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// How deep subtasks may nest; the root has depth 0.
    pub depth: u32,
    /// Model calls of one level.
    pub iterations: u32,
    /// Calls of one reply that run at the same time.
    pub parallel: u32,
    /// `run_subtask` calls over the whole tree.
    pub subtasks: u32,
    /// Model calls over the whole tree.
    pub llm_calls: u32,
    /// Tool calls over the whole tree, subtasks included.
    pub tool_calls: u32,
    /// Tool calls of the root level alone; if absent, only the tree's limit holds.
    pub root_tool_calls: Option<u32>,
    /// Model calls of one step of a plan. A step that uses them up returns its partial result.
    pub step_iterations: u32,
    /// Milliseconds that one step of a plan may be running, and all of its steps.
    pub step_ms: u64,
    pub plan_ms: u64,
    /// Milliseconds that the turn may be running.
    pub wall_clock_ms: u64,
    /// Bytes of one tool's result; the engine truncates a longer one.
    pub tool_result_bytes: usize,
    /// Tokens of one request; the engine leaves older turns out to fit.
    pub history_tokens: u64,
    /// Further attempts at a structured result after one that violates its schema.
    pub schema_retries: u32,
    /// Milliseconds that a call may wait for a client's result, and for a person's approval.
    pub client_wait_ms: u64,
    pub approval_wait_ms: u64,
    /// Tokens that one model call may write, where tokens or money are limited.
    pub output_tokens: u64,
    /// Tokens of all model calls, input and output; no limit if absent.
    pub turn_tokens: Option<u64>,
    /// Bytes of all tool results; no limit if absent.
    pub turn_result_bytes: Option<u64>,
    /// Millionths of a US dollar of all model calls; no limit if absent.
    pub turn_cost_microusd: Option<u64>,
    #[serde(skip_serializing_if = "OnLimit::is_end")]
    pub on_limit: OnLimit,
    /// The most that the quotas let the turn use, with all that a person grants it.
    #[serde(skip_serializing_if = "Grant::is_unlimited")]
    pub quota: Grant,
}

/// The base of all profiles: each profile sets all limits that are not optional.
const UNLIMITED: Limits = Limits {
    depth: 0,
    iterations: 0,
    parallel: 0,
    subtasks: 0,
    llm_calls: 0,
    tool_calls: 0,
    root_tool_calls: None,
    step_iterations: 0,
    step_ms: 0,
    plan_ms: 0,
    wall_clock_ms: 0,
    tool_result_bytes: 0,
    history_tokens: 0,
    schema_retries: 0,
    client_wait_ms: 0,
    approval_wait_ms: 0,
    output_tokens: 0,
    turn_tokens: None,
    turn_result_bytes: None,
    turn_cost_microusd: None,
    on_limit: OnLimit::End,
    quota: Grant { tokens: None, microusd: None },
};

/// The most that a quota lets a turn use; an absent amount is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Grant {
    pub tokens: Option<u64>,
    pub microusd: Option<u64>,
}

impl Grant {
    fn is_unlimited(&self) -> bool {
        *self == Grant::default()
    }
}

include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

impl Default for Limits {
    /// The profile `thread`.
    fn default() -> Self {
        THREAD
    }
}

impl Limits {
    /// Whether a model call's output needs a bound, because tokens or money are limited.
    pub fn bounds_output(&self) -> bool {
        self.turn_tokens.is_some() || self.turn_cost_microusd.is_some()
    }

    /// These limits, with tokens and money lowered to a quota's grant.
    pub fn within(self, grant: Grant) -> Limits {
        let least = |own: Option<u64>, granted: Option<u64>| own.into_iter().chain(granted).min();
        Limits {
            turn_tokens: least(self.turn_tokens, grant.tokens),
            turn_cost_microusd: least(self.turn_cost_microusd, grant.microusd),
            quota: grant,
            ..self
        }
    }

    /// The limits of a turn to which a person has granted its budget this many times more, as far as the quotas allow it.
    /// The bounds of a level, of a plan, of a request and of a single result stay as they are.
    pub fn with_grants(self, grants: u32) -> Limits {
        let times = grants.saturating_add(1);
        let calls = |limit: u32| limit.saturating_mul(times);
        let amount = |limit: Option<u64>, most: Option<u64>| {
            limit.map(|limit| limit.saturating_mul(times.into()).min(most.unwrap_or(u64::MAX)))
        };
        Limits {
            subtasks: calls(self.subtasks),
            llm_calls: calls(self.llm_calls),
            tool_calls: calls(self.tool_calls),
            root_tool_calls: self.root_tool_calls.map(calls),
            wall_clock_ms: self.wall_clock_ms.saturating_mul(times.into()),
            turn_tokens: amount(self.turn_tokens, self.quota.tokens),
            turn_result_bytes: amount(self.turn_result_bytes, None),
            turn_cost_microusd: amount(self.turn_cost_microusd, self.quota.microusd),
            ..self
        }
    }

    /// The limits with all that a person may grant.
    pub fn at_most(self) -> Limits {
        match self.on_limit {
            OnLimit::End => self,
            OnLimit::Ask => self.with_grants(MAX_GRANTS),
        }
    }

    /// The limits whose use a client can display.
    pub fn displayed(&self) -> TurnLimits {
        let Limits { subtasks, llm_calls, tool_calls, wall_clock_ms, .. } = *self;
        TurnLimits { subtasks, llm_calls, tool_calls, wall_clock_ms }
    }

    /// The number of model calls of a simple request, within these limits.
    pub fn of_simple_loop(&self) -> u32 {
        SIMPLE_LOOP.iterations.min(self.iterations)
    }

    /// The limits of a profile, if there is one of that name.
    pub fn of_profile(name: &str) -> Option<Limits> {
        match name {
            "thread" => Some(THREAD),
            "free" => Some(FREE),
            "planner" => Some(PLANNER),
            "simple_loop" => Some(SIMPLE_LOOP),
            "swarm" => Some(SWARM),
            "workflow" => Some(WORKFLOW),
            _ => None,
        }
    }

    /// Takes the stricter value of each limit; limits are never added up.
    pub fn strictest(self, other: Limits) -> Limits {
        fn optional<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Limits {
            depth: self.depth.min(other.depth),
            iterations: self.iterations.min(other.iterations),
            parallel: self.parallel.min(other.parallel),
            subtasks: self.subtasks.min(other.subtasks),
            llm_calls: self.llm_calls.min(other.llm_calls),
            tool_calls: self.tool_calls.min(other.tool_calls),
            root_tool_calls: optional(self.root_tool_calls, other.root_tool_calls),
            step_iterations: self.step_iterations.min(other.step_iterations),
            step_ms: self.step_ms.min(other.step_ms),
            plan_ms: self.plan_ms.min(other.plan_ms),
            wall_clock_ms: self.wall_clock_ms.min(other.wall_clock_ms),
            tool_result_bytes: self.tool_result_bytes.min(other.tool_result_bytes),
            history_tokens: self.history_tokens.min(other.history_tokens),
            schema_retries: self.schema_retries.min(other.schema_retries),
            client_wait_ms: self.client_wait_ms.min(other.client_wait_ms),
            approval_wait_ms: self.approval_wait_ms.min(other.approval_wait_ms),
            output_tokens: self.output_tokens.min(other.output_tokens),
            turn_tokens: optional(self.turn_tokens, other.turn_tokens),
            turn_result_bytes: optional(self.turn_result_bytes, other.turn_result_bytes),
            turn_cost_microusd: optional(self.turn_cost_microusd, other.turn_cost_microusd),
            on_limit: if self.on_limit == other.on_limit { self.on_limit } else { OnLimit::End },
            quota: Grant {
                tokens: optional(self.quota.tokens, other.quota.tokens),
                microusd: optional(self.quota.microusd, other.quota.microusd),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-138 N-139 N-140 N-141 N-142 N-143 N-144 N-145 N-146 N-149
    #[test]
    fn the_profile_of_threads_has_its_limits() {
        let thread = Limits::default();
        assert_eq!((thread.depth, thread.iterations, thread.parallel), (3, 20, 8));
        assert_eq!((thread.subtasks, thread.llm_calls, thread.tool_calls), (32, 60, 200));
        assert_eq!((thread.wall_clock_ms, thread.tool_result_bytes), (180_000, 50_000));
        assert_eq!((thread.history_tokens, thread.schema_retries), (128_000, 3));
        let free = Limits::of_profile("free").unwrap();
        assert!(free.llm_calls + 10 < 50, "Cloudflare's free plan allows 50 subrequests");
        assert_eq!(Limits::of_profile("none"), None);
    }

    // S-021 S-050 S-051 S-052 B-027 B-030
    #[test]
    fn plans_loops_and_swarms_have_their_limits() {
        let of = |name| Limits::of_profile(name).unwrap();
        let planner = of("planner");
        assert_eq!((planner.root_tool_calls, planner.wall_clock_ms), (Some(8), 90_000));
        assert!(planner.plan_ms < planner.wall_clock_ms && planner.step_ms <= planner.plan_ms);
        let simple = of("simple_loop");
        assert_eq!((simple.iterations, simple.parallel), (5, 1));
        let swarm = of("swarm");
        assert_eq!((swarm.step_iterations, swarm.step_ms, swarm.plan_ms), (10, 120_000, 600_000));
        assert!(swarm.parallel == 1 && swarm.plan_ms < swarm.wall_clock_ms);
        assert_eq!(Limits::default().root_tool_calls, None);
        let workflow = of("workflow");
        assert_eq!((workflow.parallel, workflow.wall_clock_ms), (1, 600_000));
        assert_eq!((workflow.llm_calls, workflow.iterations), (120, 20));
    }

    #[test]
    fn the_strictest_limit_wins() {
        let (planner, free) = (Limits::of_profile("planner").unwrap(), Limits::of_profile("free").unwrap());
        let both = planner.strictest(free);
        assert_eq!(both, free.strictest(planner));
        assert_eq!((both.root_tool_calls, both.wall_clock_ms), (Some(8), 90_000));
        assert_eq!((both.llm_calls, both.depth), (free.llm_calls, free.depth));
        assert_eq!(free.strictest(free), free);
    }

    #[test]
    fn a_grant_only_narrows() {
        let own = Limits { turn_tokens: Some(10), ..Limits::default() };
        let granted = |tokens, microusd| {
            let limits = own.within(Grant { tokens, microusd });
            (limits.turn_tokens, limits.turn_cost_microusd)
        };
        assert_eq!(granted(None, None), (Some(10), None));
        assert_eq!(granted(Some(20), Some(5)), (Some(10), Some(5)));
        assert_eq!(granted(Some(5), None), (Some(5), None));
    }

    // Issue 19, 4.
    #[test]
    fn a_person_grants_a_budget_once_more_within_the_quotas() {
        let (tokens, money) = (Some(100), Some(u64::MAX));
        let own = Limits { root_tool_calls: Some(8), turn_tokens: tokens, turn_cost_microusd: money, ..FREE };
        assert_eq!((own.with_grants(0), own.at_most()), (own, own), "nobody is asked");
        let once = own.with_grants(1);
        assert_eq!((once.subtasks, once.llm_calls, once.tool_calls), (16, 60, 120));
        assert_eq!((once.root_tool_calls, once.wall_clock_ms), (Some(16), 240_000));
        assert_eq!(
            (once.turn_tokens, once.turn_cost_microusd, once.turn_result_bytes),
            (Some(200), money, None)
        );
        let unbounded = |limits: Limits| Limits {
            subtasks: 0,
            llm_calls: 0,
            tool_calls: 0,
            root_tool_calls: None,
            wall_clock_ms: 0,
            turn_tokens: None,
            turn_cost_microusd: None,
            ..limits
        };
        assert_eq!(unbounded(once), unbounded(own), "the other limits stay");
        let limited =
            Limits { on_limit: OnLimit::Ask, ..own }.within(Grant { tokens: Some(250), microusd: Some(7) });
        let granted = |grants| {
            (limited.with_grants(grants).turn_tokens, limited.with_grants(grants).turn_cost_microusd)
        };
        assert_eq!([0, 1, 2, 3].map(granted).map(|(tokens, _)| tokens), [100, 200, 250, 250].map(Some));
        assert_eq!((granted(3).1, limited.at_most()), (Some(7), limited.with_grants(MAX_GRANTS)));
        assert_eq!(u32::MAX, Limits { llm_calls: u32::MAX, ..own }.with_grants(u32::MAX).llm_calls);
    }
}
