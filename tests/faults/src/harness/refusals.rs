//! Requests that the service refuses.

use espalier_test_support::json;

use super::Harness;

impl Harness {
    /// Requests that replace a message which is not there, each in a new thread. They must leave nothing in the quotas.
    pub async fn refusals(&mut self) -> Result<(), String> {
        let user = self.clients.user().await;
        for _ in 0..10 {
            let thread_id = self.new_thread();
            let body =
                json!({ "thread_id": thread_id, "content": "Hello", "replaces_message_id": thread_id });
            let reply = user.send("POST", "/api/chat", &[], &body).await;
            let status = reply.map(|reply| reply.status);
            if status != Some(400) {
                self.world.ledger.violation(format!("a bad request was answered with {status:?}"));
            }
            self.refused.push(thread_id);
        }
        Ok(())
    }
}
