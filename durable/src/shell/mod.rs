//! The Durable Object of a thread: it owns the running turn, the clock, the alarm and the readers, and implements the
//! ports of the turn engine over the platform.
//!
//! It decides when something happens and to whom it is told. What a turn does is `turn/`, what is kept and how is
//! `storage/`. What needs no platform stands outside the gate and is tested natively.

pub mod attempts;
pub mod headers;
pub mod limits;
pub mod live;
pub mod model;
pub mod numbers;
pub mod reader;
pub mod sse;

#[cfg(target_arch = "wasm32")]
mod admission;
#[cfg(target_arch = "wasm32")]
mod alarm;
#[cfg(target_arch = "wasm32")]
mod chat;
#[cfg(target_arch = "wasm32")]
pub mod clock;
#[cfg(target_arch = "wasm32")]
mod commands;
#[cfg(target_arch = "wasm32")]
mod compose;
#[cfg(target_arch = "wasm32")]
pub mod env;
#[cfg(all(target_arch = "wasm32", feature = "faults"))]
mod faults;
#[cfg(target_arch = "wasm32")]
mod log;
#[cfg(target_arch = "wasm32")]
mod mcp;
#[cfg(target_arch = "wasm32")]
pub mod object;
#[cfg(target_arch = "wasm32")]
mod place;
#[cfg(target_arch = "wasm32")]
pub mod quota;
#[cfg(target_arch = "wasm32")]
pub mod respond;
#[cfg(target_arch = "wasm32")]
mod retrieval;
#[cfg(target_arch = "wasm32")]
mod revive;
#[cfg(target_arch = "wasm32")]
mod thread;
#[cfg(target_arch = "wasm32")]
mod web;

#[cfg(target_arch = "wasm32")]
pub use object::ThreadObject;
#[cfg(target_arch = "wasm32")]
pub use quota::{BINDING as QUOTA_BINDING, QuotaObject};
#[cfg(target_arch = "wasm32")]
pub use respond::problem_response;

#[cfg(test)]
mod tests;
