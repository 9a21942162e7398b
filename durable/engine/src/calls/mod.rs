//! The calls that the engine carries out itself, but for plans (`plan/`): each file has the declaration of its
//! call, the call's facts and its behaviour.

pub mod finish;
pub mod memory;
pub mod subtask;

#[cfg(test)]
mod tests;
