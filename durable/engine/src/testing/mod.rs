//! A turn that is played by scripts: a model, tools, a clock and a log in memory, and what holds for every turn that has
//! ended. For tests alone, of this crate and of others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "fails as a test does"
)]

mod hungry;
mod invariants;
mod lines;
mod scripted;
mod support;
mod test_tools;

pub use hungry::hungry;
pub use invariants::check;
pub use lines::line;
pub use support::*;
pub use test_tools::TestTools;
