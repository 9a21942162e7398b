//! The conditions of a chat request that several of its members make together.

use super::request::unsaid;
use super::{ApiError, ChatRequest, IfRunning};

/// The most names in `must_call`: as many tools as a request may bring.
const MAX_MUST_CALL: usize = 128;

impl ChatRequest {
    /// A continuation names its thread, and stands instead of a message.
    pub(super) fn check_continuation(&self) -> Result<(), ApiError> {
        if self.content != unsaid() {
            let detail = "it stands instead of a message; a message needs no `continue`, because the thread has the results";
            return Err(ApiError::field("continue", detail));
        }
        if self.replaces_message_id.is_some() {
            return Err(ApiError::field("continue", "it replaces no message"));
        }
        if self.if_running == Some(IfRunning::Queue) {
            return Err(ApiError::field("if_running", "a continuation cannot be queued"));
        }
        match self.thread_id {
            Some(_) => Ok(()),
            None => Err(ApiError::field("thread_id", "this member is required with `continue`")),
        }
    }

    /// The answer of a plain turn alone has a shape: a mode, a workflow and an agent end in their own ways, and a blank message
    /// gets a text.
    pub(super) fn check_shape(&self) -> Result<(), ApiError> {
        let member = match (&self.response_schema, &self.must_call) {
            (Some(_), _) => "response_schema",
            (None, Some(names)) if names.is_empty() || names.len() > MAX_MUST_CALL => {
                return Err(ApiError::field("must_call", format!("expected 1 to {MAX_MUST_CALL} names")));
            }
            (None, Some(_)) => "must_call",
            (None, None) => return Ok(()),
        };
        let is_workflow = self.workflow_target.as_deref() == Some("workflow");
        if self.mode_profile.is_some() || self.agent.is_some() || is_workflow {
            let detail = "a turn with `mode_profile`, `agent` or a workflow ends in its own way";
            return Err(ApiError::field(member, detail));
        }
        match self.content.is_blank() {
            true => Err(ApiError::field(member, "a blank message is answered without a model")),
            false => Ok(()),
        }
    }
}
