//! The machinery of the end-to-end tests: a scripted LLM behind the real wire, a strict client of the service, and
//! `e2e`, the binary that starts everything on this machine and then runs the tests.
//!
//! It knows the service by its wire alone (`docs/wire-protocol.md`), never by its code, so that a change of the wire
//! breaks a test. It checks the promises to clients on every turn of every test ([`wire`]); the tests themselves then
//! compare whole event lists ([`story`]).

pub mod canary;
pub mod case;
pub mod client;
pub mod documents;
pub mod fake_llm;
pub mod fake_mcp;
pub mod http;
pub mod identity;
pub mod memory;
pub mod parts;
pub mod sse;
pub mod stored;
pub mod story;
pub mod tree;
pub mod wire;

#[cfg(test)]
mod tests;

pub use case::Case;
pub use client::Client;
pub use fake_llm::{Cut, FakeLlm, Outcome, Script, Step, call, calls, deltas, status, text};
pub use fake_mcp::FakeMcp;
pub use serde_json::{Value, json};
pub use sse::{Event, EventStream};
pub use story::{cost_line, level, story};

/// The values that `e2e` passes to the tests.
pub fn env(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: end-to-end tests run under `e2e`, see `make test`"))
}

/// A new id, as clients may choose them.
pub fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
