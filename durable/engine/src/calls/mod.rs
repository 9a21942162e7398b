//! The calls that the engine carries out itself, but for plans (`plan/`): each file has the declaration of its
//! call, the call's facts and its behaviour. `question` asks a level for one structured reply.
//!
//! A call passes its guards in a fixed order: policy when tools are offered, policy again when the call comes (entry 0
//! freezes `ToolPolicy`), hooks, a person, budget, arguments, run. A guard can only deny.
//!
//! A structured subtask (`output_schema`) ends only with a `finish_subtask` whose payload satisfies the schema, and a root
//! whose request has a `response_schema` with such a `give_answer`. Models
//! write these schemas, so `toolbelt/schema.rs` bounds them before it compiles them: size, depth, references that stay
//! inside, patterns, and the checks of one place of a payload in the worst case.
//!
//! Where a call of the engine needs such content, the service makes a call for it, in a level that asks no model
//! (`turn/reading.rs`). The ports of a turn have no other way to it, and `turn/round.rs` alone runs tools. What a turn
//! begins with (memories, passages, custom instructions, the lists of servers' tools) was looked up before it, and
//! entry 0 has it.

pub mod answer;
pub mod finish;
pub mod memory;
pub(crate) mod question;
pub mod subtask;

use crate::toolbelt::ToolSpec;

/// The declaration of a call of this folder. The turn's deadline bounds a subtask: the engine journals the calls within it
/// one by one.
fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}

#[cfg(test)]
pub(crate) mod tests;
