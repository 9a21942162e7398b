//! The memories of one user in D1.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use worker::Env;

use crate::knowledge::memories::MAX_MEMORIES;
use crate::knowledge::search;
use crate::knowledge::statements::{CLEAR, FORGET};
use crate::knowledge::{Memories, Remembered};
use bindings::d1::{Owned, Statement, number, text};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::{Memory, Owner};
use wire::store::StoreError;

/// Inserts a memory unless the limit is reached or the text is known. A known text gets a new date. A text that a second
/// call tells belongs to no turn any more, since it is part of several conversations.
const REMEMBER: OwnedSql = owned!(
    "INSERT INTO memories \
    (tenant, user_id, id, thread_id, content, terms, scope, created_at, updated_at, turn_seq) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?10 \
    WHERE (SELECT count(*) FROM memories WHERE tenant = ?1 AND user_id = ?2) < ?9 \
    OR EXISTS (SELECT 1 FROM memories WHERE tenant = ?1 AND user_id = ?2 AND content = ?5) \
    ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, \
    turn_seq = iif(id = excluded.id, turn_seq, NULL), beside = iif(id = excluded.id, beside, 0) RETURNING id"
);

const NEWEST: OwnedSql = owned!(
    "SELECT id, content, created_at, updated_at FROM memories \
    WHERE tenant = ?1 AND user_id = ?2 ORDER BY updated_at DESC, id DESC LIMIT ?3"
);

const NEWEST_AFTER: OwnedSql = owned!(
    "SELECT id, content, created_at, updated_at FROM memories \
    WHERE tenant = ?1 AND user_id = ?2 AND (updated_at, id) < (?4, ?5) ORDER BY updated_at DESC, id DESC LIMIT ?3"
);

/// Selects what a turn of the thread `?4` may find: of this thread the memories of the turns on the path `?5`, of other
/// threads those that are marked as on their path.
macro_rules! here {
    () => {
        "CASE WHEN thread_id <> ?4 THEN beside = 0 ELSE turn_seq IS NULL OR EXISTS ( \
        SELECT 1 FROM json_each(?5) WHERE turn_seq BETWEEN value ->> 0 AND value ->> 1) END"
    };
}

const NEWEST_HERE: OwnedSql = owned!(concat!(
    "SELECT id, content, created_at, updated_at FROM memories WHERE tenant = ?1 AND user_id = ?2 AND ",
    here!(),
    " ORDER BY updated_at DESC, id DESC LIMIT ?3"
));

/// Marks the memories of a thread by its path.
const FOLLOW_PATH: OwnedSql = owned!(
    "UPDATE memories SET beside = 1 - beside \
    WHERE tenant = ?1 AND user_id = ?2 AND thread_id = ?3 AND turn_seq IS NOT NULL AND beside = EXISTS ( \
    SELECT 1 FROM json_each(?4) WHERE turn_seq BETWEEN value ->> 0 AND value ->> 1)"
);

/// Ranks by BM25 over the owner's rows alone. FTS5 weighs a word by its rarity among all users, which would leak
/// information about them. So the query divides the scores of each word by their best, and weighs the word by its
/// rarity among the owner's rows.
const MATCHING: OwnedSql = owned!(concat!(
    "WITH hits AS MATERIALIZED ( \
      SELECT word.key AS word, word.value ->> 1 AS counts, memories_fts.rowid AS number, \
      -bm25(memories_fts, 0.0, 1.0) AS score \
      FROM json_each(?6) AS word JOIN memories_fts WHERE memories_fts MATCH word.value ->> 0), \
    words AS (SELECT word, max(score) AS best, counts * ln(1.0 + ( \
      SELECT count(*) FROM memories WHERE tenant = ?1 AND user_id = ?2) * 1.0 / count(*)) AS weight \
      FROM hits GROUP BY word) \
    SELECT id, content, created_at, updated_at FROM hits JOIN words USING (word) JOIN memories USING (number) \
    WHERE tenant = ?1 AND user_id = ?2 AND ",
    here!(),
    " GROUP BY number ORDER BY sum(score / best * weight) DESC, updated_at DESC, id LIMIT ?3"
));

/// The place of a call in its thread.
#[derive(Clone, Debug, Default)]
pub struct Spot {
    /// The turn that calls, by the number of its first event.
    pub turn: u64,
    /// The path that is the conversation, as a JSON array of ranges of turns.
    pub path: String,
}

/// Finds the place of a call at the moment of the call.
type Spots = Box<dyn Fn() -> Result<Spot, StoreError>>;

/// The memories of one user, for the calls of one thread.
pub struct D1Memories {
    owned: Owned,
    owner: Owner,
    thread_id: String,
    spots: Spots,
}

/// Marks the memories that the turns beside the path of their thread wrote, and unmarks the others.
pub async fn follow_path(
    env: &Env,
    tenant: &str,
    user_id: &str,
    thread_id: &str,
    path: &str,
) -> Result<(), StoreError> {
    let owned = Owned::of_user(env, tenant, user_id);
    owned.statement(FOLLOW_PATH, &[text(thread_id), text(path)])?.run().await
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

impl D1Memories {
    /// All memories of a user, for the user.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        Self::in_thread(env, owner, "", Box::new(|| Ok(Spot::default())))
    }

    /// The memories of a user that the turns of a thread know.
    pub fn in_thread(env: &Env, owner: &Owner, thread_id: &str, spots: Spots) -> Self {
        D1Memories {
            owned: Owned::new(env, owner),
            owner: owner.clone(),
            thread_id: thread_id.to_owned(),
            spots,
        }
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: Statement) -> Self {
        D1Memories { owned: self.owned.logging(log), ..self }
    }

    /// The newest after a cursor, which is a time and an id.
    pub async fn page(&self, limit: u32, after: Option<(u64, &str)>) -> Result<Vec<Memory>, StoreError> {
        match after {
            None => self.owned.select(NEWEST, &[limit.into()]).await,
            Some((at, id)) => self.owned.select(NEWEST_AFTER, &[limit.into(), number(at), text(id)]).await,
        }
    }

    /// Forgets all memories.
    pub async fn clear(&self) -> Result<(), StoreError> {
        self.owned.delete(CLEAR, &[]).await.map(drop)
    }
}

impl Memories for D1Memories {
    fn remember(
        &self,
        content: &str,
        operation: &str,
        now_ms: u64,
    ) -> LocalBoxFuture<'static, Result<Remembered, StoreError>> {
        let turn = (self.spots)().map(|spot| number(spot.turn));
        let own = self.owner.memory_id(&self.thread_id, operation).to_string();
        let values = [
            text(&own),
            text(&self.thread_id),
            text(content),
            text(&search::indexed(content)),
            text(&self.owner.token()),
            number(now_ms),
            MAX_MEMORIES.into(),
        ];
        let owned = self.owned.clone();
        async move {
            let values = [values.as_slice(), &[turn?]].concat();
            Ok(match owned.first(REMEMBER, &values).await? {
                Some(Id { id }) if id == own => Remembered::Stored(id),
                Some(Id { id }) => Remembered::Known(id),
                None => Remembered::Full,
            })
        }
        .boxed_local()
    }

    fn recall(
        &self,
        question: Option<&str>,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Memory>, StoreError>> {
        let owned = self.owned.clone();
        let words = question.map(|question| search::expressions(&[self.owner.token()], question));
        let (spot, thread_id) = ((self.spots)(), text(&self.thread_id));
        async move {
            let here = [limit.into(), thread_id, text(&spot?.path)];
            match words {
                None => owned.select(NEWEST_HERE, &here).await,
                Some(None) => Ok(Vec::new()),
                Some(Some(words)) => {
                    owned.select(MATCHING, &[here.as_slice(), &[text(&words)]].concat()).await
                }
            }
        }
        .boxed_local()
    }

    fn forget(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, StoreError>> {
        self.owned.delete(FORGET, &[text(id)])
    }
}
