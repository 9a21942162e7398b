//! The `Model` port: the codecs of `providers/` over the platform's `fetch` and the binding of Workers AI, and the demo
//! model over the clock.
//!
//! This module decides which model of a chain is asked and how often, permits, timeouts, and when an answer counts as
//! complete; a dropped stream ends the request upstream. Only the senders of requests need the platform; native tests
//! run the rest.
//!
//! A model call is one call of the `Model` port with a chain of models. `platform/src/model/route.rs` asks them in
//! order until one answers, and announces each request before it makes it. `drive` reserves and journals each request
//! after the first before it polls on, so the budget counts requests. A level does not know the chain, with one
//! exception: it shortens a conversation that was too long for the model, because a replay must send the same.
//!
//! A failure carries what its request used, as far as that is known (`ModelError::used`); the record counts the whole
//! reservation where it is not. A reply without usage costs an estimate (`TurnBudget::estimated`), which its usage
//! says.
//!
//! Until then each failure is a refusal, also in an answer of status 200 (`model/http.rs`). `route.rs` hands the
//! answer over at that word and forgets it.

pub mod demo;
pub mod http;
pub mod route;
#[cfg(target_arch = "wasm32")]
mod serving;
#[cfg(target_arch = "wasm32")]
mod workers_ai;

#[cfg(target_arch = "wasm32")]
pub use serving::{Connections, serving};
