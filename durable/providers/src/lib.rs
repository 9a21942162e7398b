//! The APIs of LLM services, sans I/O: a [`Codec`] turns a request into bytes and bytes, in any split, into events.
//! A codec returns the provider's own parts of a reply (ids, signatures, reasoning) to that provider alone, in
//! [`RawMessage`](wire::model::RawMessage). It discards the text of errors. The platform sends the bytes, waits and
//! gives up.

mod acceptable;
mod accumulator;
pub mod anthropic;
pub mod breaker;
pub mod catalogue;
mod codec;
pub mod config;
pub mod demo;
pub mod failure;
pub mod gemini;
mod json;
mod members;
mod normalise;
pub mod openai;
pub mod openai_chat;
pub mod openai_responses;
mod parts;
pub mod permits;
mod replies;
pub mod retry;
pub mod text_calls;
pub mod usage;
pub mod workers_ai;
mod written;

pub use codec::{Codec, Decoder, MAX_REPLY_BYTES, cache_key};

#[cfg(test)]
mod testing;
