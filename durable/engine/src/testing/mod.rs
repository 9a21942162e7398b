//! Plays a turn from scripts, with a model, tools, a clock and a log in memory, and checks the invariants of
//! every ended turn. For tests alone, of this crate and of others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "fails as a test does"
)]

mod disk;
mod hungry;
mod invariants;
mod kept;
mod lines;
mod schemas;
mod scripted;
mod support;
mod test_tools;

pub use hungry::hungry;
pub use invariants::{check, check_answers, cuts, raw_of};
pub use lines::line;
pub use schemas::{ForeignSchema, foreign_schemas};
pub use support::*;
pub use test_tools::{TestTools, name_form};
