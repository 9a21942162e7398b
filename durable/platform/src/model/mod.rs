//! The `Model` port: the codecs of `providers/` over the platform's `fetch` and the binding of Workers AI, and the demo
//! model over the clock.
//!
//! This module decides which model of a chain is asked and how often, permits, timeouts, and when an answer counts as
//! complete; a dropped stream ends the request upstream. Only the senders of requests need the platform; native tests
//! run the rest.

pub mod demo;
pub mod http;
pub mod route;
#[cfg(target_arch = "wasm32")]
mod serving;
#[cfg(target_arch = "wasm32")]
mod workers_ai;

#[cfg(target_arch = "wasm32")]
pub use serving::{Connections, serving};
