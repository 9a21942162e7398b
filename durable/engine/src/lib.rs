//! Espalier's engine: one loop in which a model answers, calls tools, or divides the work into subtasks.
//!
//! The engine is pure: it names no platform, no provider and no feature. It reaches the outside through the
//! four [`ports`] alone. Native tests run it with a scripted model and an injected clock.

pub mod budget;
pub mod calls;
pub mod compose;
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

// The example names this crate as others do, and the tests run it.
#[cfg(test)]
extern crate self as engine;
