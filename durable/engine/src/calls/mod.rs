//! The calls that the engine carries out itself, but for plans (`plan/`): each file has the declaration of its
//! call, the call's facts and its behaviour. `question` asks a level for one structured reply.

pub mod finish;
pub mod memory;
pub(crate) mod question;
pub mod subtask;

#[cfg(test)]
mod tests;
