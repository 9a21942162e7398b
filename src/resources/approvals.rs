//! Answers to calls that wait for somebody outside, and lasting approvals.

use super::words::*;
use wire::protocol::{Approval, ToolResult};

#[cfg(target_arch = "wasm32")]
use crate::routes::answers;
#[cfg(test)]
use wire::protocol::{ApprovalList, Taken};

routes! {
    /// Takes the result of a tool that the client ran. The first answer counts. See "Turns that wait" in
    /// docs/wire-protocol.md.
    Post "/api/threads/{}/tool_results" => ToolResults(id), Needs(Write), json::<ToolResult>(), EndsOnce,
        |r| answers::tool_result(r.call, r.caller.owner()?, id, r.body),
        |row| row
            .takes(json!({ "tool_call_id": "call_a596e3befdf038de_0.0", "result": "Opened." }))
            .answers_a_call();
    /// Approves or denies a call that waits for a person. The first answer counts. See "Turns that wait" in
    /// docs/wire-protocol.md.
    Post "/api/threads/{}/approvals/{}" => Approval(id, approval), Needs(Write), json::<Approval>(), EndsOnce,
        |r| answers::approval(r.call, r.caller.owner()?, id, approval, r.body),
        |row| row.takes(json!({ "decision": "approve" })).answers_a_call();
    /// Lists the tools that a person allowed in a thread for good. The person answered `approve_for_thread`. The list has
    /// them by name.
    Get "/api/threads/{}/approvals" => Approvals(id), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::Approvals),
        |row| row.in_thread().gives::<ApprovalList>(200);
    /// Withdraws a lasting approval, named by its tool. From the thread's next turn on the service asks about the tool
    /// again. A running turn keeps the approval. A repetition changes nothing.
    Delete "/api/threads/{}/approvals/{}" => WithdrawApproval(id, approval), Needs(Write), Nothing, Removes,
        |r| r.ask(id, ThreadCommand::WithdrawApproval { tool: approval.to_owned() }),
        |row| row.in_thread().gives_nothing("It is withdrawn.");
}

#[cfg(test)]
impl Contract {
    /// An answer to a call that waits for somebody outside.
    fn answers_a_call(self) -> Self {
        self.in_thread().gives::<Taken>(200).refuses(&[E::NotWaiting, E::TurnOnHold])
    }
}
