//! The engine against a scripted model, an injected clock and a log in memory: whole event lists, natively, in
//! milliseconds.

mod budget;
mod dispatch;
mod everywhere;
mod faults;
mod golden;
mod guards;
mod long_texts;
mod loop_shapes;
mod memory;
mod models;
mod parked;
mod plan_limits;
mod plans;
mod property;
mod stops;
mod structured;
mod subtasks;
mod swarm;
