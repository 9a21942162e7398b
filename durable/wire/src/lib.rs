//! The types that all crates share: the wire types of clients, messages without a provider, ids, server-sent events,
//! HTTP as a port, media, signed tokens, redaction, the pace of long work. This crate knows neither turns nor providers nor the platform.

pub mod http;
pub mod json;
pub mod media;
pub mod model;
pub mod pace;
pub mod protocol;
pub mod redact;
pub mod signing;
pub mod sse;
pub mod store;
pub mod surrogates;
pub mod tagged;
pub mod time;
pub mod title;
pub mod tool_names;
