//! The AI SDK (`ai` 7): the body of its `DefaultChatTransport`, and its UI message stream, version 1.
//! docs/clients.md describes both.

mod answer;
mod encoder;
mod frame;
mod inside;
mod parts;
mod request;
mod schema;

pub use encoder::Encoder;
pub use request::{MAX_CHAT_ID, Sent, Wants};
pub use schema::ChatBody;

#[cfg(test)]
mod tests;
