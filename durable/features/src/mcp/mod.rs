//! The client of MCP servers (Model Context Protocol, Streamable HTTP): their tools, resources and prompts as tools.
//! The configuration (`config`) alone decides which servers exist and which users have them. The client bounds all data
//! of a server (`reply`, `offer`, `content`), and a server can only restrict its tools further. `connection` implements
//! the protocol over its ports (`port`). A resumed turn finds its tools in the frozen entry 0 and lists no server
//! again.
//!
//! The protocol stands over a port (`port.rs`), so a function can play the server in a native test. The object asks a
//! server for its tools between admission and start, and entry 0 freezes them. A turn that goes on finds a tool by its
//! frozen declaration (`Tools::find`), so a replay needs no server.
//!
//! A connection belongs to one run: its first call opens it (`opening.rs`), by the revision without sessions
//! (`modern.rs`) or with a session, which ends when the run is dropped. So no user's data reaches another user. The
//! objects of an isolate share lists and tokens, which are data (`known.rs`), because a list costs three requests. A
//! future of one object must not wait for another object's request, so each object fetches for itself. The client
//! repeats a call only where the server says that it did not take it. It reads on a cut reply with `Last-Event-ID`.

mod authorization;
pub mod config;
mod connection;
mod content;
mod error;
mod known;
mod listening;
mod message;
mod modern;
mod offer;
mod opening;
pub mod port;
mod reply;
mod servers;
mod tool;

pub use connection::Connection;
pub use error::McpError;
pub use known::Known;
pub use offer::{Offer, PREFIX};
pub use servers::{Listed, Missing, Servers};

#[cfg(test)]
mod tests;
