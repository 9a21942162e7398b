//! The parts of the harness that kills the runtime (`main.rs` describes it).
//!
//! `world` survives each kill: `model`, the recorder of side effects, `d1`, `r2`. The harness kills `runtime`. `client` comes
//! and goes, `view` is its state. `ledger` judges each event by earlier ones, `check` judges the end state, `report`
//! prints it. `script` has the shapes of the turns and the model's replies, `journeys` the conversations through the other
//! doors of the service, `harness` a run.

pub mod check;
pub mod client;
pub mod d1;
pub mod death;
pub mod harness;
pub mod journeys;
pub mod ledger;
pub mod model;
pub mod person;
pub mod r2;
pub mod report;
pub mod rng;
pub mod runtime;
pub mod script;
pub mod stream;
pub mod vectors;
pub mod view;
pub mod world;

#[cfg(test)]
mod tests;
