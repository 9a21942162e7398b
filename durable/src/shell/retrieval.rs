//! What is looked up for a message before its turn starts: the user's memories. A request that asks for none reads
//! nothing; an index that is slow or down holds up no chat.

use futures::future::{Either, select};
use futures::pin_mut;

use crate::ports::{KnowledgeError, Memories};
use crate::protocol::{ApiError, Owner};
use crate::retrieved;
use crate::storage::memories::D1Memories;

use super::chat::Ask;
use super::env::is_bound;
use super::thread::Thread;
use crate::storage::d1::BINDING;

/// How long a turn waits for it.
const PATIENCE_MS: u64 = 1_000;

/// What a turn starts with.
#[derive(Default)]
pub struct Retrieved {
    /// The turn may use what is remembered about its user.
    pub memory: bool,
    /// What was found.
    pub message: Option<String>,
    /// Why nothing was, for the operator.
    pub failure: Option<String>,
}

impl Thread {
    /// Looks up what the request asks for.
    pub async fn retrieve(&self, ask: &Ask<'_>) -> Result<Retrieved, ApiError> {
        let memory = ask.request.memory_enabled == Some(true) && is_bound(&self.env, BINDING);
        if !memory {
            return Ok(Retrieved::default());
        }
        let question = ask.request.content.text();
        let found = self
            .memories(ask.owner, &ask.thread_id.to_string())
            .recall(Some(&question), retrieved::MAX_MEMORIES);
        let patience = self.clock.sleep(PATIENCE_MS);
        pin_mut!(patience);
        let found = match select(found, patience).await {
            Either::Left((found, _)) => found,
            Either::Right(_) => Err(KnowledgeError(format!("D1 did not answer within {PATIENCE_MS} ms"))),
        };
        Ok(match found {
            Ok(memories) => Retrieved { memory, message: retrieved::message(&memories), failure: None },
            Err(KnowledgeError(error)) => Retrieved { memory, message: None, failure: Some(error) },
        })
    }

    /// The memories of a user, for the calls of a thread.
    pub fn memories(&self, owner: &Owner, thread_id: &str) -> D1Memories {
        D1Memories::new(&self.env, owner, thread_id)
    }
}
