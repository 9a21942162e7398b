//! Espalier's engine: one loop, a model with tools, that answers, calls tools, or divides the work into subtasks.
//!
//! Pure: it knows no platform, no provider and no feature. It reaches the outside through the four [`ports`] alone, and is
//! tested natively with a scripted model and an injected clock.

pub mod budget;
pub mod calls;
pub mod journal;
pub mod memory;
pub mod offer;
pub mod plans;
pub mod ports;
pub mod profiles;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod toolbelt;
pub mod turn;
pub mod versions;

// The example names this crate as others do, and the tests run it.
#[cfg(test)]
extern crate self as engine;
