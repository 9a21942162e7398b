//! The parts of the harness that kills the runtime (`main.rs` says what it does).
//!
//! `world` is what survives each kill: `model`, the recorder of side effects, `d1`. `runtime` is what is killed.
//! `client` comes and goes, `view` is what it has. `ledger` judges what happens by what happened before, `check` what is
//! left in the end, `report` prints it. `plan` says what each turn is made of, `harness` what a run is made of.

pub mod check;
pub mod client;
pub mod d1;
pub mod harness;
pub mod ledger;
pub mod model;
pub mod person;
pub mod plan;
pub mod report;
pub mod rng;
pub mod runtime;
pub mod stream;
pub mod view;
pub mod world;

#[cfg(test)]
mod tests;
