//! Espalier's engine: one loop in which a model answers, calls tools, or divides the work into subtasks.
//!
//! The engine is pure: it names no platform, no provider and no feature. It reaches the outside through the
//! four [`ports`] alone. Native tests run it with a scripted model and an injected clock.

/// A constant that only run time can make: made once per thread, and cloned from then on. A turn's tools are composed
/// anew for each turn, and building the schemas of all of them costs more than the rest of the composition.
#[macro_export]
macro_rules! made_once {
    ($type:ty, $make:expr) => {{
        thread_local!(static MADE: $type = $make);
        MADE.with(Clone::clone)
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
