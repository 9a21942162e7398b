//! Plans: one level makes a plan, another may review it, and its steps run as calls that the service makes.
//!
//! A reader starts at the calls: `create` and `update` are those of a model. `make`, `review` and `run` carry
//! them out, and `step` is the call of each step. `swarm` and `router` begin a turn whose request asks for a
//! mode. All of them are composite calls of the loop (`turn/composite.rs`).
//!
//! `rules` and `ledger` are plain data. The journal and the record hold them, so they stand below the loop.
//!
//! `agent_create_plan` is a call that contains levels: one makes the plan, one reviews it, then the plan runs. Making
//! is structured, so mistakes go back to the model. A running plan is a level whose rounds the service makes: its
//! waves of `plan_step` calls are journaled as `called` and go through `turn/round.rs`, and each step is a subtask. So
//! budget, guards, tree, memory and replay are those of every call. A plan whose run was lost goes on at its step.
//!
//! Only the root makes plans. Each change of a plan is journaled as `plan`, a revision, and stored at the turn's end.
//! The next turn's entry 0 freezes the draft that waits for the user's word. Where its chat context is not the turn's,
//! entry 0 has what the draft's levels need of it as well (`draft_context`; `plan/context.rs` applies it): tools,
//! guidance, limits of steps. A step that runs out of time ends its open calls and itself in one commit. While the
//! turn asks at a limit the time of steps stands still, so no question outlives the level that asked it.
//!
//! A turn that asks for a router or a swarm (`mode_profile`) begins with calls of the service in the root's place
//! (`plan/swarm.rs`), journaled as `called`. `route_request` is one structured level of one reply (`plan/router.rs`).
//! `agent_create_plan` then runs one step a wave. The root's own loop follows: without calls after a plan, so that it
//! synthesizes; with at most five model calls after a simple request. The router's `role` picks the root's models
//! among those of entry 0.
//!
//! A chat context is data (`profiles/contexts/*.toml`): guidance, budget, models, operation, tools, and the needs of a
//! plan. Where several limits apply, the strictest holds. A turn in `thread` makes no call beside its own, and has no
//! plan tool unless a draft waits.

mod acting;
mod context;
pub mod create;
pub(crate) mod ledger;
mod make;
mod progress;
pub(crate) mod prompt;
mod review;
pub(crate) mod router;
pub mod rules;
mod run;
pub(crate) mod step;
pub(crate) mod swarm;
#[cfg(test)]
pub(crate) mod tests;
mod told;
pub mod update;
mod voice;

use crate::toolbelt::ToolSpec;

/// The declaration of a call of this folder. Plans run one at a time. The turn's deadline bounds them: the engine journals
/// the calls within it one by one.
fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}
