//! The engine against a scripted model, an injected clock and a log in memory: whole event lists, natively, in
//! milliseconds.

mod budget;
mod dispatch;
mod everywhere;
mod faults;
mod files;
mod golden;
mod guards;
mod invariants;
mod long_texts;
mod loop_shapes;
mod memory;
mod models;
mod parked;
mod plans;
mod property;
mod retrieved;
mod scripted;
mod stops;
mod structured;
mod subtasks;
mod support;
mod swarm;
mod test_tools;
