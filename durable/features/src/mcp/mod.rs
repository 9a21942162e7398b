//! The client of MCP servers (Model Context Protocol, Streamable HTTP): their tools, resources and prompts as tools.
//! The configuration (`config`) alone decides which servers exist and which users have them. The client bounds all data
//! of a server (`reply`, `offer`, `content`), and a server can only restrict its tools further. `connection` implements
//! the protocol over its ports (`port`). A resumed turn finds its tools in the frozen entry 0 and lists no server
//! again.

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
