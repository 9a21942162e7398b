//! What everybody speaks: the wire types of clients, messages without a provider, ids, server-sent events, redaction.
//! Knows nothing of turns, providers or the platform.

pub mod model;
pub mod protocol;
pub mod redact;
pub mod sse;
