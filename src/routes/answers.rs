//! Answers to a call that waits for somebody outside: the client that ran a tool answers by `POST …/tool_results`, a
//! person by `POST …/approvals/{id}`.

use wire::protocol::{Approval, Owner, ThreadCommand, ToolResult};

use super::threads;
use crate::call::{Answer, Call};
use crate::problem::Failure;

/// Hands the result of a client's tool to the thread's object.
pub async fn tool_result(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    let result = ToolResult::parse(body)?;
    let (content, is_error) = (result.content(), result.is_error);
    let command = ThreadCommand::ToolResult { tool_call_id: result.tool_call_id, content, is_error };
    threads::ask(call, owner, id, command).await
}

/// Hands a person's decision about a call to the thread's object.
pub async fn approval(
    call: &Call,
    owner: Owner,
    id: &str,
    approval: &str,
    body: &[u8],
) -> Result<Answer, Failure> {
    let Approval { decision, content, reason } = Approval::parse(body)?;
    let (approval_id, address) = (approval.to_owned(), call.address_mark());
    let command = ThreadCommand::Approval { approval_id, decision, content, reason, address };
    threads::ask(call, owner, id, command).await
}
