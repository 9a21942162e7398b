//! Whether a chat request works on the session of its thread. This is judged before everything else that decides the
//! request's turn (N-019). Pure.

use super::advance::SessionRow;
use wire::protocol::{ApiError, ChatRequest, ErrorCode, SessionMode};

/// The way of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It works on no session.
    Plain,
    /// It starts one.
    Start,
    /// It goes on with the one that is open.
    GoOn,
}

/// Judges a request. `open`: the session of its thread that is not over. A blank message asks no model (B-062), so it starts
/// no session, and the one that is open stays as it is.
pub fn way(request: &ChatRequest, open: Option<&SessionRow>) -> Result<Way, ApiError> {
    let running = |detail: &str| Err(ApiError::new(ErrorCode::WorkflowRunning, detail));
    let is_blank = request.content.is_blank();
    let Some(open) = open else {
        return Ok(if request.targets_workflow() && !is_blank { Way::Start } else { Way::Plain });
    };
    if request.replaces_message_id.is_some() {
        return running("a session is open, whose steps cannot be taken back: end it first");
    }
    if is_blank {
        return Ok(Way::Plain);
    }
    if request.targets_workflow() {
        return match open.mode {
            SessionMode::External => running("a client carries out the session of this thread"),
            SessionMode::Service if request.workflow_id.as_ref() != Some(&open.workflow_id) => {
                running("a session of another workflow is open: complete or end it first")
            }
            SessionMode::Service => Ok(Way::GoOn),
        };
    }
    match open.mode {
        SessionMode::External => Ok(Way::Plain),
        SessionMode::Service if request.agent.is_some() || request.mode_profile.is_some() => {
            running("a session is open: no agent and no mode takes its place")
        }
        SessionMode::Service => Ok(Way::GoOn),
    }
}
