//! The answer of the service to a message that says nothing: it stands in the place of a model's.

use crate::journal::ModelOutcome;
use wire::model::{ModelReply, ReplyFinish, Usage};

/// The name that stands in a model's place where none was asked.
pub(super) const CANNED: &str = "canned";

/// What the service's own answer is to the level.
pub(super) fn canned_reply(text: String) -> ModelOutcome {
    ModelOutcome::Replied(Box::new(ModelReply {
        text,
        tool_calls: Vec::new(),
        finish: ReplyFinish::Stop,
        usage: Some(Usage::default()),
        raw: None,
    }))
}
