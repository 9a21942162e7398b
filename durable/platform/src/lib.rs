//! Espalier on Cloudflare: the Durable Object of a thread. It owns the running turn, the clock, the alarm and the
//! readers, and implements the ports of the engine over the platform.
//!
//! It decides when work happens and which readers get its events. `engine` decides what a turn does, `storage/` how a
//! thread is kept, `quota/` how much users may use. The modules that need no platform are tested natively.

pub mod admission;
pub mod attempts;
pub mod deployment;
pub mod duties;
pub mod headers;
pub mod idle;
pub mod limits;
pub mod live;
pub mod model;
pub mod numbers;
pub mod queueing;
pub mod reader;
pub mod revival;
pub mod sessions;
#[cfg(target_arch = "wasm32")]
mod shapes;
pub mod sse;
pub mod storage;
pub mod translated;

#[cfg(target_arch = "wasm32")]
pub mod accounts;
#[cfg(target_arch = "wasm32")]
mod adapters;
#[cfg(target_arch = "wasm32")]
mod agents;
#[cfg(target_arch = "wasm32")]
mod alarm;
#[cfg(target_arch = "wasm32")]
mod brought;
#[cfg(target_arch = "wasm32")]
mod chat;
#[cfg(target_arch = "wasm32")]
pub mod clock;
#[cfg(target_arch = "wasm32")]
mod commands;
#[cfg(target_arch = "wasm32")]
mod compose;
#[cfg(target_arch = "wasm32")]
mod deletion;
#[cfg(all(target_arch = "wasm32", feature = "faults"))]
mod faults;
#[cfg(target_arch = "wasm32")]
mod fetch;
#[cfg(target_arch = "wasm32")]
mod hooks;
#[cfg(target_arch = "wasm32")]
mod ids;
#[cfg(target_arch = "wasm32")]
mod log;
#[cfg(target_arch = "wasm32")]
mod next_prompt;
#[cfg(target_arch = "wasm32")]
pub mod object;
#[cfg(target_arch = "wasm32")]
mod past;
#[cfg(target_arch = "wasm32")]
mod place;
#[cfg(target_arch = "wasm32")]
mod queue;
pub mod quota;
#[cfg(target_arch = "wasm32")]
mod reservation;
#[cfg(target_arch = "wasm32")]
pub mod respond;
#[cfg(target_arch = "wasm32")]
mod revive;
#[cfg(target_arch = "wasm32")]
mod speak;
#[cfg(target_arch = "wasm32")]
mod start;
#[cfg(target_arch = "wasm32")]
mod thread;
#[cfg(target_arch = "wasm32")]
mod versions;

#[cfg(target_arch = "wasm32")]
pub use accounts::{BINDING as QUOTA_BINDING, QuotaObject};
#[cfg(target_arch = "wasm32")]
pub use object::ThreadObject;
#[cfg(target_arch = "wasm32")]
pub use respond::problem_response;

#[cfg(test)]
mod tests;
