//! The memories of one user in D1.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use worker::{D1PreparedStatement, Env};

use super::{Asked, Asking, failed, rows};
use crate::knowledge::memories::MAX_MEMORIES;
use crate::knowledge::search;
use crate::knowledge::statements::{CLEAR, FORGET};
use crate::knowledge::{KnowledgeError, Memories, Remembered};
use bindings::d1::{database, number, text};
use wire::protocol::{Memory, Owner};

/// Inserts a memory unless the limit is reached or the text is known. A known text gets a new date. A text that a second
/// call tells belongs to no turn any more, since it is part of several conversations.
const REMEMBER: &str = "INSERT INTO memories \
    (tenant, user_id, id, thread_id, content, terms, scope, created_at, updated_at, turn_seq) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?10 \
    WHERE (SELECT count(*) FROM memories WHERE tenant = ?1 AND user_id = ?2) < ?9 \
    OR EXISTS (SELECT 1 FROM memories WHERE tenant = ?1 AND user_id = ?2 AND content = ?5) \
    ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, \
    turn_seq = iif(id = excluded.id, turn_seq, NULL), beside = iif(id = excluded.id, beside, 0) RETURNING id";

const NEWEST: &str = "SELECT id, content, created_at, updated_at FROM memories \
    WHERE tenant = ?1 AND user_id = ?2 ORDER BY updated_at DESC, id DESC LIMIT ?3";

const NEWEST_AFTER: &str = "SELECT id, content, created_at, updated_at FROM memories \
    WHERE tenant = ?1 AND user_id = ?2 AND (updated_at, id) < (?4, ?5) ORDER BY updated_at DESC, id DESC LIMIT ?3";

/// Selects what a turn of the thread `?4` may find: of this thread the memories of the turns on the path `?5`, of other
/// threads those that are marked as on their path.
macro_rules! here {
    () => {
        "CASE WHEN thread_id <> ?4 THEN beside = 0 ELSE turn_seq IS NULL OR EXISTS ( \
        SELECT 1 FROM json_each(?5) WHERE turn_seq BETWEEN value ->> 0 AND value ->> 1) END"
    };
}

const NEWEST_HERE: &str = concat!(
    "SELECT id, content, created_at, updated_at FROM memories WHERE tenant = ?1 AND user_id = ?2 AND ",
    here!(),
    " ORDER BY updated_at DESC, id DESC LIMIT ?3"
);

/// Marks the memories of a thread by its path.
const FOLLOW_PATH: &str = "UPDATE memories SET beside = 1 - beside \
    WHERE tenant = ?1 AND user_id = ?2 AND thread_id = ?3 AND turn_seq IS NOT NULL AND beside = EXISTS ( \
    SELECT 1 FROM json_each(?4) WHERE turn_seq BETWEEN value ->> 0 AND value ->> 1)";

/// Ranks by BM25 over the owner's rows alone. FTS5 weighs a word by its rarity among all users, which would leak
/// information about them. So the query divides the scores of each word by their best, and weighs the word by its
/// rarity among the owner's rows.
const MATCHING: &str = concat!(
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
);

/// The place of a call in its thread.
#[derive(Clone, Debug, Default)]
pub struct Spot {
    /// The turn that calls, by the number of its first event.
    pub turn: u64,
    /// The path that is the conversation, as a JSON array of ranges of turns.
    pub path: String,
}

/// Finds the place of a call at the moment of the call.
type Spots = Box<dyn Fn() -> Asked<Spot>>;

/// The memories of one user, for the calls of one thread.
pub struct D1Memories {
    asking: Asking,
    thread_id: String,
    spots: Spots,
    log: Option<D1PreparedStatement>,
}

/// Marks the memories that the turns beside the path of their thread wrote, and unmarks the others.
pub async fn follow_path(env: &Env, tenant: &str, user_id: &str, thread_id: &str, path: &str) -> Asked<()> {
    let values = [text(tenant), text(user_id), text(thread_id), text(path)];
    let database = database(env).map_err(failed)?;
    database.prepare(FOLLOW_PATH).bind(&values).map_err(failed)?.run().await.map(drop).map_err(failed)
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
        D1Memories { asking: Asking::new(env, owner), thread_id: thread_id.to_owned(), spots, log: None }
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: D1PreparedStatement) -> Self {
        D1Memories { log: Some(log), ..self }
    }

    /// The newest after a cursor, which is a time and an id.
    pub async fn page(&self, limit: u32, after: Option<(u64, &str)>) -> Asked<Vec<Memory>> {
        match after {
            None => self.asking.rows(NEWEST, [limit.into()]).await,
            Some((at, id)) => self.asking.rows(NEWEST_AFTER, [limit.into(), number(at), text(id)]).await,
        }
    }

    /// Forgets all memories.
    pub async fn clear(&self) -> Asked<()> {
        self.asking
            .batch(self.log.iter().cloned().chain([self.asking.prepare(CLEAR, [])?]).collect())
            .await
            .map(drop)
    }
}

impl Memories for D1Memories {
    fn remember(
        &self,
        content: &str,
        operation: &str,
        now_ms: u64,
    ) -> LocalBoxFuture<'static, Result<Remembered, KnowledgeError>> {
        let turn = (self.spots)().map(|spot| number(spot.turn));
        let own = self.asking.owner.memory_id(&self.thread_id, operation).to_string();
        let values = [
            text(&own),
            text(&self.thread_id),
            text(content),
            text(&search::indexed(content)),
            text(&self.asking.owner.token()),
            number(now_ms),
            MAX_MEMORIES.into(),
        ];
        let asking = self.asking.clone();
        async move {
            let values = values.into_iter().chain([turn?]);
            let written: Vec<Id> = asking.rows(REMEMBER, values).await?;
            Ok(match written.into_iter().next() {
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
    ) -> LocalBoxFuture<'static, Result<Vec<Memory>, KnowledgeError>> {
        let asking = self.asking.clone();
        let words = question.map(|question| search::expressions(&[asking.owner.token()], question));
        let (spot, thread_id) = ((self.spots)(), text(&self.thread_id));
        async move {
            let here = [limit.into(), thread_id, text(&spot?.path)];
            match words {
                None => asking.rows(NEWEST_HERE, here).await,
                Some(None) => Ok(Vec::new()),
                Some(Some(words)) => asking.rows(MATCHING, here.into_iter().chain([text(&words)])).await,
            }
        }
        .boxed_local()
    }

    fn forget(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, KnowledgeError>> {
        let (asking, log) = (self.asking.clone(), self.log.clone());
        let forget = asking.prepare(FORGET, [text(id)]);
        async move {
            let results = asking.batch(log.into_iter().chain([forget?]).collect()).await?;
            Ok(results.last().map(rows::<Id>).transpose()?.is_some_and(|gone| !gone.is_empty()))
        }
        .boxed_local()
    }
}
