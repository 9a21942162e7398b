//! The APIs of LLM services, sans I/O: a [`Codec`] turns a request into bytes and bytes, in any split, into events.
//! A codec returns the provider's own parts of a reply (ids, signatures, reasoning) to that provider alone, in
//! [`RawMessage`](wire::model::RawMessage). It discards the text of errors. The platform sends the bytes, waits and
//! gives up.
//!
//! A codec reads what a provider means, not what its document promises: a member of another type is absent, and what
//! follows a finish reason may be unreadable. It reads the events of its API into the accumulator
//! (`providers/src/accumulator.rs`), which all codecs share: texts, finish reason, usage, errors, bounds, and the
//! rules of what an event may lack. The accumulator normalises texts and calls before anybody gets them
//! (`normalise.rs`): halves of surrogate pairs in two pieces, `<think>` in a text, control words behind the name of a
//! tool. `codec.rs` has the framing. A generated table (`accumulator/tests/replaced_members`) replaces each member of
//! the recorded streams. Texts of clients and of MCP servers lose such halves before they are read
//! (`wire/src/surrogates.rs`).
//!
//! What a deployment knows of models stands in `providers/src/catalogue`: a file that `make catalogue` writes, which
//! the build turns into constants. The configuration takes each model's price of the day from it, and entry 0 freezes
//! the price. One function prices a usage (`engine/src/profiles/price.rs`): the whole request by the tier of its
//! prompt, times the factor of its service tier.
//!
//! A request has at most `history_tokens`, prompt and tools included. A level whose messages no longer fit cuts them
//! once, to three fifths of their limit, and then only adds to them until they reach it again (`turn/level/cut.rs`).
//! Whole turns of the thread go first, but the turn before this one loses its oldest rounds before the whole of it.
//! Then go the summary of older turns and the oldest rounds of the level itself. The level's instructions and its
//! newest round stay. If the rest is still too large, the turn ends for `tokens`.
//!
//! A codec sends an image or a file only as a data URL (`providers/src/parts.rs`), and a raw message only where its
//! provider can have written it (`replies.rs`); else the plain message goes. Rows outlive the rules of requests, so
//! the codecs hold these for old rows too.

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
pub mod media;
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
