//! The AI SDK (`ai` 7): the body of its `DefaultChatTransport`, and its UI message stream, version 1.
//! docs/clients.md describes both.

mod encoder;
mod frame;
mod inside;
mod names;
mod request;

pub use encoder::Encoder;
pub use request::{ChatBody, MAX_CHAT_ID, Sent, Wants};

/// The header that tells a client the form of the stream, and its value.
pub const HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

#[cfg(test)]
mod tests;
