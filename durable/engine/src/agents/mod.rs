//! Agents that stay: levels with a name, which remember what they heard and said beyond the call and the turn that asks
//! them. The rows that they leave are `journal/agent.rs`, their sum in a turn is `record/agents.rs`.
//!
//! A reader starts at the calls: `task` makes or asks an agent, `discuss` has several answer, `terminate` ends one, and
//! `todo` keeps a list. `list_agents`, `dump_agent` and `restore_agent` list, write and read agents (`dump`). `discussion`
//! has agents answer one after the other, and `reply` is the call of each answer. `template` reads what a template says.
//! `websearch` searches the web: a call of its own, and by `code` also an agent that stays.
//!
//! docs/agents.md says what it is. The words of agents and hooks reach a model between marks with their author's name
//! (`engine/src/marks.rs`), as memories and files do by the marks of the features. Entry 0 says by which marks
//! (`TurnSpec::marks`). An agent is a level with a name, instructions as its system prompt, and a transcript as its
//! history. `task` and `discuss` open a level that asks no model, like the waves of a plan; its rounds are
//! `agent_reply` calls that the service makes, one speaker each, journaled as `called`. That level does not count
//! towards the limit of depth.
//!
//! An agent of code (`code.rs`) answers with one of the engine's own calls in place of a model: its level makes that
//! call as one round, and the call passes hooks, budget and journal like any other.
//!
//! A template that is a file or a resource is read within the call (`turn/reading.rs`), before the agent is journaled.
//! A run that takes the turn up after that does not read it again. `dump_agent` and `restore_agent` use files by the
//! same road. A dump is longer than a result: after the call that reads its beginning, the tool gives the whole
//! (`Tool::whole`), which the journal has as the agents that were made.
//!
//! `agents/dump.rs` makes dumps of agents and agents of dumps, for these calls and for the routes. A dump is read and
//! built by the wire (`SentDump`, `DumpBuilder`): the builder takes rounds from the newest to the oldest of all
//! agents, as long as there is room.
//!
//! The agents of a turn are part of its record (`record/agents.rs`). Each change is journaled: as `agents` before a
//! call's end (made, heard), or in the call's `ToolEnd` (spoke, ended), so that an answer and its round are one entry.
//! Entry 0 freezes the agents that earlier turns left, without their rounds. The port `Agents` reads those when an
//! agent first speaks, and the journal has them from then on. `TurnEnd` has the rows to append, and
//! `storage/agents.rs` writes them in the commit of the turn's end. Where an agent answers the user, the turn's
//! history is its round and not the thread's.

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
