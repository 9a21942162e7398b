//! The turn engine: one loop, driven through ports, rebuilt from its journal.

use std::rc::Rc;

use crate::journal::{Entry, TurnSpec, TurnStop};
use crate::model::Message;
use crate::ports::{LogError, Ports};

/// One turn, from entry 0 to `done`.
pub struct Turn {}

impl Turn {
    /// Commits entry 0 with the turn's first events. `history` is the conversation before this turn. Synchronous: the
    /// caller's own writes (the user's message, the running mark) are durable with it if no await stands between.
    pub fn begin(_spec: TurnSpec, _history: Vec<Message>, _ports: Ports) -> Result<Rc<Turn>, LogError> {
        Err(LogError::Fenced)
    }

    /// Rebuilds a turn whose run was lost from its journal, in the order in which it was written. `run` goes on.
    pub fn resume(_entries: Vec<Entry>, _history: Vec<Message>, _ports: Ports) -> Result<Rc<Turn>, LogError> {
        Err(LogError::Fenced)
    }

    /// Runs until the turn's end is committed, whatever that end is, or until the log is fenced.
    pub async fn run(&self) {}

    /// Stops the turn: journaled at once, the first reason wins. `run` then commits the end and returns.
    pub fn stop(&self, _why: TurnStop) -> Result<(), LogError> {
        Err(LogError::Fenced)
    }

    /// What entry 0 froze.
    pub fn spec(&self) -> Option<&TurnSpec> {
        None
    }
}
