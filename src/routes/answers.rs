//! What somebody outside says to a call that waits: `POST …/tool_results` by the client that carried it out,
//! `POST …/approvals/{id}` by a person.

use wire::protocol::{Approval, Owner, ThreadCommand, ToolResult};

use super::threads;
use crate::body;
use crate::problem::Failure;
use crate::serve::{Answer, Call};

/// A client's tool has run.
pub async fn tool_result(call: &mut Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    body::require_json(call.header("content-type").as_deref())?;
    let result = ToolResult::parse(&call.body().await?)?;
    let (content, is_error) = (result.content(), result.is_error);
    let command = ThreadCommand::ToolResult { tool_call_id: result.tool_call_id, content, is_error };
    threads::ask(call, owner, id, command).await
}

/// A person allows a call, or does not.
pub async fn approval(call: &mut Call, owner: Owner, id: &str, approval: &str) -> Result<Answer, Failure> {
    body::require_json(call.header("content-type").as_deref())?;
    let Approval { decision } = Approval::parse(&call.body().await?)?;
    let command = ThreadCommand::Approval { approval_id: approval.to_owned(), decision };
    threads::ask(call, owner, id, command).await
}
