//! The client of MCP servers (Model Context Protocol, Streamable HTTP): their tools, resources and prompts as tools.
//!
//! Which servers there are, and who may have them, is configuration (`config`); nothing is taken from a request. What a
//! server says is bounded (`reply`, `offer`, `content`) and can only narrow what its tools may do. `connection` speaks
//! the protocol over its ports (`port`); a turn that goes on finds its tools by what its entry 0 froze, and asks no server
//! what it offers.

mod authorization;
pub mod config;
mod connection;
mod content;
mod error;
mod known;
mod message;
mod offer;
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
