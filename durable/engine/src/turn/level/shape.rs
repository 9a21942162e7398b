//! The shape of a level's result: the message to a model that misses it, and what a root still has to call.

use crate::journal::{AnswerShape, ToolEnd};
use wire::model::ToolCall;

/// The shape of a level's result, beside its schema.
#[derive(Clone, Debug, Default)]
pub(in crate::turn) struct Shape {
    /// The message to a model that answered in prose.
    pub(super) reminder: String,
    /// Whether the level is a root whose request wants a shape: each miss counts.
    pub(super) is_of_root: bool,
    /// The call that gives the root's answer as JSON, which becomes its text.
    pub(super) answer: Option<String>,
    /// The tools of which the level must still call one.
    calls: Vec<String>,
}

impl Shape {
    /// The shape of a child level.
    pub(in crate::turn) fn of_child(reminder: &str) -> Self {
        Shape { reminder: reminder.to_owned(), ..Shape::default() }
    }

    /// The shape of a root.
    pub(in crate::turn) fn of_root(wanted: &AnswerShape) -> Self {
        let answer = wanted.answer.as_ref().map(|answer| answer.name.clone());
        Shape { reminder: wanted.reminder.clone(), is_of_root: true, answer, calls: wanted.calls.clone() }
    }

    /// Whether a call of this name gives the root's answer.
    pub(super) fn is_answer(&self, name: &str) -> bool {
        self.answer.as_deref() == Some(name)
    }

    /// The tools of which the level must still call one, in words; none where it need not.
    pub(super) fn unmet(&self) -> Option<String> {
        (!self.calls.is_empty()).then(|| format!("no call was made of {}", self.calls.join(", ")))
    }

    /// The reason why a result misses the shape: a call that is missing, else this one.
    pub(super) fn objection(&self, other: &str) -> String {
        self.unmet().unwrap_or_else(|| other.to_owned())
    }

    /// A round has settled. Returns whether it had the call that the level must make. One that ended in an error is none.
    pub(super) fn settle(&mut self, calls: &[ToolCall], results: &[ToolEnd]) -> bool {
        let mut made = calls.iter().zip(results).filter(|(_, end)| !end.is_error);
        let is_met = made.any(|(call, _)| self.calls.contains(&call.name));
        if is_met {
            self.calls.clear();
        }
        is_met
    }
}
