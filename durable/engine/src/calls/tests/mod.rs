//! The calls in turns with a scripted model, an injected clock and a log in memory.

mod memory;
pub(crate) mod shaped;
mod structured;
mod subtasks;
