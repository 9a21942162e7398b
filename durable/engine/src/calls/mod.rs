//! The calls that the engine carries out itself, but for plans (`plan/`): each file has the declaration of its
//! call, the call's facts and its behaviour. `question` asks a level for one structured reply.

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
mod tests;
