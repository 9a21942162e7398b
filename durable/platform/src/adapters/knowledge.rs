//! Looks up the user's memories and the collections that the request names, before the turn of a message starts. A
//! request that asks for neither reads nothing; an index that is slow or down holds up no chat.

use std::rc::Rc;

use futures::TryFutureExt;
use futures::future::try_join;
use uuid::Uuid;
use worker::Env;

use bindings::d1::BINDING;
use engine::toolbelt::ToolPolicy;
use features::Resources;
use features::knowledge::collections::Searchable;
use features::knowledge::retrieved;
use features::knowledge::store::collections::D1Collections;
use features::knowledge::store::memories::{self, D1Memories, Spot};
use features::knowledge::{Collections, Knowledge, Memories};
use wire::protocol::{ApiError, ErrorCode, Memory, Owner, Passage};

use super::Retrieved;
use crate::admission::TurnRequest;
use crate::storage::StoreError;
use crate::storage::outgoing::{News, Outgoing};
use crate::thread::Thread;
use bindings::env::is_bound;

/// Adds the memories and the collections that the turn may use.
pub fn provide(
    resources: &mut Resources,
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    policy: &ToolPolicy,
) -> Result<(), ApiError> {
    let store = Rc::clone(&thread.store);
    // The calls of a turn are made while it runs: it is the newest turn, and on the path.
    let spot = move || Ok(Spot { turn: store.ends()?.newest, path: store.path()?.json() });
    let memories = policy.memory.then(|| {
        Rc::new(D1Memories::in_thread(&thread.env, owner, thread_id, Box::new(spot))) as Rc<dyn Memories>
    });
    let searchable = (!policy.collections.is_empty()).then(|| Searchable {
        collections: Rc::new(D1Collections::new(&thread.env, owner)),
        ids: policy.collections.as_slice().into(),
    });
    resources.knowledge = Knowledge { memories, searchable };
    Ok(())
}

/// The collections of a request; each of them exists.
pub struct Asked {
    ids: Vec<String>,
    /// The same with their names, or the reason why the names are not known, for the operator.
    named: Result<Vec<(String, String)>, String>,
}

impl Thread {
    /// Looks up the collections that the request names. A missing collection refuses the request before it costs
    /// anything; the search itself comes after the turn was admitted.
    pub async fn collections(&self, ask: &TurnRequest<'_>) -> Result<Asked, ApiError> {
        let given = ask.chat.request.collections.as_deref().unwrap_or_default();
        // An id must be a UUID, so that its length is bounded even where no index says whether the collection exists.
        if let Some(at) = given.iter().position(|id| Uuid::try_parse(id).is_err()) {
            return Err(no_collection(at));
        }
        let mut ids: Vec<String> = Vec::new();
        for id in given.iter().filter(|_| is_bound(&self.env, BINDING)) {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        if ids.is_empty() {
            return Ok(Asked { ids, named: Ok(Vec::new()) });
        }
        let known = D1Collections::new(&self.env, ask.owner);
        let looking = known.named(&ids).map_err(|error| error.0);
        let named = match self.within_patience(looking).await {
            Err(error) => Err(error),
            Ok(named) => {
                let is_there = |id: &String| named.iter().any(|(known, _)| known == id);
                if let Some(at) = given.iter().position(|id| !is_there(id)) {
                    return Err(no_collection(at));
                }
                Ok(named)
            }
        };
        Ok(Asked { ids, named })
    }

    /// Searches the memories and collections that the request asks for.
    pub async fn retrieve(&self, ask: &TurnRequest<'_>, asked: &Asked) -> Retrieved {
        let memory = is_bound(&self.env, BINDING) && ask.chat.request.memory_enabled == Some(true);
        let collections = asked.ids.clone();
        let (message, failure) = match &asked.named {
            // The turn does not wait twice for an index that is down.
            Err(error) => (None, Some(error.clone())),
            Ok(_) if !memory && collections.is_empty() => (None, None),
            Ok(named) => {
                let question = ask.chat.request.content.text();
                let looking = try_join(
                    self.remembered(ask, memory, &question),
                    self.searched(ask.owner, &collections, &question),
                );
                match self.within_patience(looking.map_err(|error| error.0)).await {
                    Ok((memories, passages)) => (retrieved::message(&memories, named, &passages), None),
                    Err(error) => (None, Some(error)),
                }
            }
        };
        Retrieved { memory, collections, message, failure, ..Retrieved::default() }
    }

    async fn remembered(
        &self,
        ask: &TurnRequest<'_>,
        memory: bool,
        question: &str,
    ) -> Result<Vec<Memory>, StoreError> {
        if !memory {
            return Ok(Vec::new());
        }
        let path =
            self.standing(&ask.chat.request).map_err(|error| StoreError(error.to_string()))?.path.json();
        let spots = Box::new(move || Ok(Spot { turn: 0, path: path.clone() }));
        let thread_id = ask.thread_id.to_string();
        let memories = D1Memories::in_thread(&self.env, ask.owner, &thread_id, spots);
        Ok(memories.recall(Some(question), retrieved::MAX_MEMORIES).await?)
    }

    async fn searched(
        &self,
        owner: &Owner,
        ids: &[String],
        question: &str,
    ) -> Result<Vec<Passage>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        Ok(D1Collections::new(&self.env, owner).search(ids, question, retrieved::MAX_PASSAGES).await?)
    }
}

/// Marks the memories that turns beside the path of their thread wrote: no other thread finds them.
pub async fn follow_paths(env: &Env, outbox: &[Outgoing]) -> Result<(), StoreError> {
    for out in outbox {
        if let News::PathChanged { path, .. } = &out.news {
            memories::follow_path(env, &out.tenant, &out.user_id, &out.thread_id, path).await?;
        }
    }
    Ok(())
}

fn no_collection(at: usize) -> ApiError {
    let detail = "there is no collection with this id";
    ApiError::new(ErrorCode::CollectionNotFound, detail).about(format!("collections[{at}]"))
}
