//! The service's answer to a blank message: it takes the place of a model's answer.

use crate::journal::ModelOutcome;
use wire::model::{ModelReply, ReplyFinish, Usage};

/// The name that stands in place of a model's where the service asked no model.
pub(crate) const CANNED: &str = "canned";

/// The service's own answer as the outcome of a model call.
pub(crate) fn canned_reply(text: String) -> ModelOutcome {
    ModelOutcome::Replied(Box::new(ModelReply {
        text,
        tool_calls: Vec::new(),
        finish: ReplyFinish::Stop,
        usage: Some(Usage::default()),
        raw: None,
    }))
}

/// The service's answer to a blank message (B-062).
pub(crate) const SAY_MORE: &str = "Your message was empty. What would you like me to help you with?";
