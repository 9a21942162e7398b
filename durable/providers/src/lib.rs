//! The wires of LLM services, sans I/O: a [`Codec`] turns a request into bytes and bytes, in any split, into events.
//!
//! What a provider said beyond our own words (ids, signatures, reasoning) goes back to it, and only to it, in
//! [`RawMessage`](wire::model::RawMessage); what it said in an error goes nowhere. Who sends the bytes, waits and
//! gives up is the shell's business.

mod acceptable;
pub mod anthropic;
pub mod breaker;
pub mod catalogue;
mod codec;
pub mod config;
pub mod demo;
pub mod failure;
mod json;
mod members;
pub mod openai_chat;
pub mod openai_responses;
mod parts;
pub mod permits;
pub mod retry;
pub mod text_calls;
pub mod workers_ai;

pub use codec::{Codec, Decoder, MAX_REPLY_BYTES};

#[cfg(test)]
mod testing;
