//! What is looked up for a message before its turn starts: the user's memories, and the collections that the request
//! names. A request that asks for neither reads nothing; an index that is slow or down holds up no chat.

use futures::future::{Either, select, try_join};
use futures::pin_mut;
use uuid::Uuid;

use crate::ports::{Collections, KnowledgeError, Memories};
use crate::protocol::{ApiError, ErrorCode, Memory, Owner, Passage};
use crate::retrieved;
use crate::storage::collections::D1Collections;
use crate::storage::d1::BINDING;
use crate::storage::memories::D1Memories;

use super::chat::Ask;
use super::env::is_bound;
use super::thread::Thread;

/// How long a turn waits for it.
const PATIENCE_MS: u64 = 1_000;

/// What a turn starts with.
#[derive(Default)]
pub struct Retrieved {
    /// The turn may use what is remembered about its user.
    pub memory: bool,
    /// The collections that it may search.
    pub collections: Vec<String>,
    /// What was found.
    pub message: Option<String>,
    /// Why nothing was, for the operator.
    pub failure: Option<String>,
}

/// The collections of a request that are there, each with its name, and what they have.
type Searched = (Vec<(String, String)>, Vec<Passage>);

impl Thread {
    /// Looks up what the request asks for. A collection that is not there refuses the request.
    pub async fn retrieve(&self, ask: &Ask<'_>) -> Result<Retrieved, ApiError> {
        let given = ask.request.collections.as_deref().unwrap_or_default();
        // So that what is asked for is of some length even where nobody can be asked whether it is there.
        if let Some(at) = given.iter().position(|id| Uuid::try_parse(id).is_err()) {
            return Err(no_collection(at));
        }
        let bound = is_bound(&self.env, BINDING);
        let memory = bound && ask.request.memory_enabled == Some(true);
        let mut collections: Vec<String> = Vec::new();
        for id in given.iter().filter(|_| bound) {
            if !collections.contains(id) {
                collections.push(id.clone());
            }
        }
        if !memory && collections.is_empty() {
            return Ok(Retrieved::default());
        }
        let found = self.look_up(ask, memory, &collections).await;
        let (message, failure) = match found {
            Ok((memories, (named, passages))) => {
                let is_there = |id: &String| named.iter().any(|(known, _)| known == id);
                if let Some(at) = given.iter().position(|id| !is_there(id)) {
                    return Err(no_collection(at));
                }
                (retrieved::message(&memories, &named, &passages), None)
            }
            Err(KnowledgeError(error)) => (None, Some(error)),
        };
        Ok(Retrieved { memory, collections, message, failure })
    }

    async fn look_up(
        &self,
        ask: &Ask<'_>,
        memory: bool,
        collections: &[String],
    ) -> Result<(Vec<Memory>, Searched), KnowledgeError> {
        let question = ask.request.content.text();
        let looking = try_join(
            self.remembered(ask, memory, &question),
            self.searched(ask.owner, collections, &question),
        );
        let patience = self.clock.sleep(PATIENCE_MS);
        pin_mut!(looking, patience);
        match select(looking, patience).await {
            Either::Left((found, _)) => found,
            Either::Right(_) => Err(KnowledgeError(format!("D1 did not answer within {PATIENCE_MS} ms"))),
        }
    }

    async fn remembered(
        &self,
        ask: &Ask<'_>,
        memory: bool,
        question: &str,
    ) -> Result<Vec<Memory>, KnowledgeError> {
        if !memory {
            return Ok(Vec::new());
        }
        let memories = self.memories(ask.owner, &ask.thread_id.to_string());
        memories.recall(Some(question), retrieved::MAX_MEMORIES).await
    }

    async fn searched(
        &self,
        owner: &Owner,
        ids: &[String],
        question: &str,
    ) -> Result<Searched, KnowledgeError> {
        if ids.is_empty() {
            return Ok(Searched::default());
        }
        let collections = D1Collections::new(&self.env, owner);
        let passages = collections.search(ids, question, retrieved::MAX_PASSAGES);
        try_join(collections.named(ids), passages).await
    }

    /// The memories of a user, for the calls of a thread.
    pub fn memories(&self, owner: &Owner, thread_id: &str) -> D1Memories {
        D1Memories::new(&self.env, owner, thread_id)
    }
}

fn no_collection(at: usize) -> ApiError {
    ApiError {
        field: Some(format!("collections[{at}]")),
        ..ApiError::new(ErrorCode::CollectionNotFound, "there is no collection with this id")
    }
}
