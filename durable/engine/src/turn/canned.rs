//! The service's answer to a blank message: it takes the place of a model's answer.

use crate::journal::ModelOutcome;
use wire::model::{ModelReply, ReplyFinish, Usage};

/// The name that stands in place of a model's where the service asked no model.
pub(super) const CANNED: &str = "canned";

/// The service's own answer as the outcome of a model call.
pub(super) fn canned_reply(text: String) -> ModelOutcome {
    ModelOutcome::Replied(Box::new(ModelReply {
        text,
        tool_calls: Vec::new(),
        finish: ReplyFinish::Stop,
        usage: Some(Usage::default()),
        raw: None,
    }))
}
