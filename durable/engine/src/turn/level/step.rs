//! The next step of a level, and the ways in which a level ends.

use std::rc::Rc;

use super::{Leaving, Level};
use wire::model::{Message, ModelError, ModelRequest, ReplyFinish, ToolCall};

/// The next step that a level asks for.
#[derive(Debug)]
pub enum Step {
    /// Turns must leave before the next model call: a summary takes their place.
    Summarise(Leaving),
    /// The course of the level says how it goes on.
    Steer,
    CallModel(ModelRequest),
    CallTools(Rc<[ToolCall]>),
    /// The level has drafted an answer: its hooks say whether readers get it.
    Judge,
    Finish(LevelEnd),
}

/// How a level ended.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelEnd {
    /// A reply without tool calls: its text is the level's result (N-042).
    Text { text: String, finish: ReplyFinish },
    /// The provider failed, which ends the level.
    ModelFailed(ModelError),
    /// The payload of an accepted `finish_subtask`: JSON that satisfies the level's schema (N-060).
    Structured(String),
    /// The level has a schema, and no result satisfied it (N-070, N-073).
    SchemaNotSatisfied(String),
    /// A hook blocked the level's answer, and each rewriting of it.
    Blocked { hook: String, reason: String },
    /// The level used up its iterations.
    IterationLimit(u32),
    /// Iteration limit reached; the level returns its partial result.
    Partial(String),
}

impl Level {
    /// The level's partial result: its last words, else the last result that it got.
    pub(crate) fn so_far(&self) -> String {
        let own = || self.messages.iter().skip(self.own_from).rev();
        let said = |message: &Rc<Message>| match message.as_ref() {
            _ if self.withholds(message) => None,
            Message::Assistant { content, .. } if !content.trim().is_empty() => Some(content.clone()),
            _ => None,
        };
        let got = |message: &Rc<Message>| match message.as_ref() {
            Message::Tool { content, is_error: false, .. } => Some(content.clone()),
            _ => None,
        };
        own().find_map(said).or_else(|| own().find_map(got)).unwrap_or_default()
    }
}
