//! Espalier's engine: one loop in which a model answers, calls tools, or divides the work into subtasks.
//!
//! The engine is pure: it names no platform, no provider and no feature. It reaches the outside through the
//! four [`ports`] alone. Native tests run it with a scripted model and an injected clock.
//!
//! Its rooms stand on each other, from the ground up: `journal/`, `record/` (the journal's sum), `turn/` (the loop),
//! `calls/`, `plan/`, `agents/` and `workflow/` (the engine's own calls), and `compose.rs`, which hands the calls to
//! the loop. `prompt.rs` has the root's prompt; each call brings its part of it. Two files of `plan/` are plain data
//! that the journal and the record hold, so they stand below the loop. `src/walls.rs` has the whole order.

/// The declaration of a tool in a file `tools.json`: read once per thread, and cloned from then on. A turn's tools are composed
/// anew for each turn, and reading all of them costs more than the rest of the composition.
#[macro_export]
macro_rules! declared {
    ($file:literal, $name:expr) => {{
        thread_local!(static DECLARED: Vec<$crate::toolbelt::ToolSpec> =
            $crate::toolbelt::declarations(include_str!($file)));
        DECLARED.with(|all| $crate::toolbelt::declaration(all, $name))
    }};
}

pub mod agents;
pub mod budget;
pub mod calls;
pub mod compose;
pub mod hooks;
pub mod journal;
mod marks;
pub mod memory;
pub mod offer;
mod own;
pub mod plan;
pub mod ports;
pub mod profiles;
pub mod prompt;
mod record;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod toolbelt;
pub mod turn;
pub mod versions;
pub mod workflow;

// The example names this crate as others do, and the tests run it.
#[cfg(test)]
extern crate self as engine;
