//! Agents that stay: levels with a name, which remember what they heard and said beyond the call and the turn that asks
//! them. The rows that they leave are `journal/agent.rs`, their sum in a turn is `record/agents.rs`.
//!
//! A reader starts at the calls: `task` makes or asks an agent, `discuss` has several answer, `terminate` ends one, and
//! `todo` keeps a list. `list_agents`, `dump_agent` and `restore_agent` list, write and read agents (`dump`). `discussion`
//! has agents answer one after the other, and `reply` is the call of each answer. `template` reads what a template says.
//! `websearch` searches the web: a call of its own, and by `code` also an agent that stays.

mod code;
mod copies;
pub mod discuss;
mod discussion;
pub mod dump;
pub mod dump_agent;
pub mod list_agents;
mod page;
mod reply;
pub mod restore_agent;
pub mod task;
mod template;
pub mod terminate;
#[cfg(test)]
pub(crate) mod tests;
pub mod todo;
pub mod websearch;

pub use code::answers;
pub(crate) use page::CALL as DIGEST_CALL;
pub(crate) use reply::CALL as REPLY_CALL;
pub use template::builtin;

use crate::toolbelt::ToolSpec;

/// The declaration of a call of this folder. Calls to agents run in the model's order, and the turn's deadline bounds them.
fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}
