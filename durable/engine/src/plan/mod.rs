//! Plans: one level makes a plan, another may review it, and its steps run as calls that the service makes.
//!
//! A reader starts at the calls: `create` and `update` are those of a model. `make`, `review` and `run` carry
//! them out, and `step` is the call of each step. `swarm` and `router` begin a turn whose request asks for a
//! mode. All of them are composite calls of the loop (`turn/composite.rs`).
//!
//! `rules` and `ledger` are plain data. The journal and the record hold them, so they stand below the loop.

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
