//! The collections of one user in D1, with their documents and chunks.

use std::rc::Rc;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, join, ready};
use serde::Deserialize;
use serde_json::{Value, json};
use worker::wasm_bindgen::JsValue;
use worker::{Env, console_error};

use super::vectors::{Near, Vectors};
use crate::knowledge::Collections;
use crate::knowledge::chunks::Chunk;
use crate::knowledge::embeddings::fused;
use crate::knowledge::search;
use bindings::d1::{Owned, number, text};
use bindings::owned;
use bindings::rows::arrays;
use bindings::sql::OwnedSql;
use wire::protocol::{Collection, Document, Owner, Passage};
use wire::store::StoreError;

/// The limits of a user: enough for a person, and small enough for a fast search.
pub const MAX_COLLECTIONS: u32 = 100;
pub const MAX_DOCUMENTS: u32 = 1_000;
/// The most bytes of all documents of a user.
pub const MAX_BYTES: u64 = 10_485_760;

const COLLECTION: &str = "SELECT id, name, description, created_at, updated_at, \
    (SELECT count(*) FROM documents d WHERE d.tenant = ?1 AND d.user_id = ?2 AND d.collection_id = c.id) AS documents, \
    (SELECT coalesce(sum(bytes), 0) FROM documents d \
      WHERE d.tenant = ?1 AND d.user_id = ?2 AND d.collection_id = c.id) AS bytes \
    FROM collections c WHERE tenant = ?1 AND user_id = ?2";

const DOCUMENT: &str = "SELECT id, name, media_type, bytes, chunks, created_at FROM documents \
    WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3";

/// Inserts a document only if its collection exists and has room, and its chunks only if the document exists. The row of
/// its vectors becomes its own (`intents.rs`).
const ADD: OwnedSql = owned!(
    "INSERT INTO documents \
    (tenant, user_id, id, collection_id, name, media_type, bytes, chunks, created_at) \
    SELECT ?1, ?2, ?4, ?3, ?5, ?6, ?7, ?8, ?9 \
    WHERE EXISTS (SELECT 1 FROM collections WHERE tenant = ?1 AND user_id = ?2 AND id = ?3) \
    AND (SELECT count(*) FROM documents WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3) < ?10 \
    AND (SELECT coalesce(sum(bytes), 0) FROM documents WHERE tenant = ?1 AND user_id = ?2) + ?7 <= ?11 \
    ON CONFLICT (tenant, user_id, id) DO UPDATE SET collection_id = excluded.collection_id, name = excluded.name, \
    media_type = excluded.media_type, bytes = excluded.bytes WHERE documents.collection_id = '' RETURNING id"
);
const ADD_CHUNKS: OwnedSql = owned!(
    "INSERT INTO chunks \
    (tenant, user_id, collection_id, document_id, place, heading, text, terms, scope) \
    SELECT ?1, ?2, ?3, ?4, value ->> 0, value ->> 1, value ->> 2, value ->> 3, ?5 FROM json_each(?6) \
    WHERE EXISTS (SELECT 1 FROM documents WHERE tenant = ?1 AND user_id = ?2 AND id = ?4 AND collection_id = ?3)"
);
const TOUCH: OwnedSql = owned!(
    "UPDATE collections SET updated_at = max(updated_at, ?5) WHERE tenant = ?1 AND user_id = ?2 AND id = ?3 \
    AND EXISTS (SELECT 1 FROM documents WHERE tenant = ?1 AND user_id = ?2 AND id = ?4 AND collection_id = ?3)"
);

/// Ranks as `memories.rs` does: by BM25 over the owner's rows alone. A chunk that has every word with the best weight
/// scores 1.
const MATCHING: OwnedSql = owned!(
    "WITH hits AS MATERIALIZED ( \
      SELECT word.key AS word, word.value ->> 1 AS counts, chunks_fts.rowid AS number, \
      -bm25(chunks_fts, 0.0, 1.0) AS score \
      FROM json_each(?3) AS word JOIN chunks_fts WHERE chunks_fts MATCH word.value ->> 0), \
    words AS (SELECT word, max(score) AS best, counts * ln(1.0 + ( \
      SELECT count(*) FROM chunks WHERE tenant = ?1 AND user_id = ?2) * 1.0 / count(*)) AS weight \
      FROM hits GROUP BY word), \
    best AS (SELECT number, sum(score / best * weight) / (SELECT sum(weight) FROM words) AS score \
      FROM hits JOIN words USING (word) GROUP BY number) \
    SELECT c.collection_id, c.document_id, d.name AS document_name, c.place AS chunk, c.heading, c.text, \
      round(best.score, 3) AS score FROM best JOIN chunks c USING (number) \
    JOIN documents d ON d.tenant = c.tenant AND d.user_id = c.user_id AND d.id = c.document_id \
    WHERE c.tenant = ?1 AND c.user_id = ?2 ORDER BY best.score DESC, c.number LIMIT ?4"
);

/// The chunks with these documents and numbers in these collections, with their similarity.
const AT: OwnedSql = owned!(
    "SELECT c.collection_id, c.document_id, d.name AS document_name, c.place AS chunk, c.heading, c.text, \
      round(near.value ->> 2, 3) AS score FROM json_each(?3) AS near \
    JOIN chunks c ON c.tenant = ?1 AND c.user_id = ?2 AND c.document_id = near.value ->> 0 \
      AND c.place = near.value ->> 1 \
    JOIN documents d ON d.tenant = c.tenant AND d.user_id = c.user_id AND d.id = c.document_id \
    WHERE c.collection_id IN (SELECT value FROM json_each(?4)) ORDER BY near.key"
);

/// The collections of one user. Vectorize has the embeddings, if configured.
#[derive(Clone)]
pub struct D1Collections {
    pub(super) owned: Owned,
    owner: Owner,
    pub(super) vectors: Option<Rc<Vectors>>,
}

/// A new document in chunks.
pub struct NewDocument<'a> {
    pub document: &'a Document,
    pub collection_id: &'a str,
    pub chunks: &'a [Chunk],
    /// The chunks as rows (`chunks::rows`).
    pub rows: &'a [String],
}

/// Why a document was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded {
    NoCollection,
    TooMany,
    Full,
}

#[derive(Deserialize)]
struct Taken {
    collections: u32,
    documents: u32,
}

impl D1Collections {
    pub fn new(env: &Env, owner: &Owner) -> Self {
        D1Collections {
            owned: Owned::new(env, owner),
            owner: owner.clone(),
            vectors: Vectors::new(env).map(Rc::new),
        }
    }

    /// The newest after a cursor, which is a time and an id.
    pub async fn page(&self, limit: u32, after: Option<(u64, &str)>) -> Result<Vec<Collection>, StoreError> {
        let (condition, values) = match after {
            None => ("", vec![limit.into()]),
            Some((at, id)) => (" AND (created_at, id) < (?4, ?5)", vec![limit.into(), number(at), text(id)]),
        };
        let sql = format!("{COLLECTION}{condition} ORDER BY created_at DESC, id DESC LIMIT ?3");
        self.owned.select(OwnedSql::composed(&sql)?, &values).await
    }

    pub async fn get(&self, id: &str) -> Result<Option<Collection>, StoreError> {
        let sql = format!("{COLLECTION} AND id = ?3");
        self.owned.first(OwnedSql::composed(&sql)?, &[text(id)]).await
    }

    /// The given collections that belong to the user, by id.
    pub async fn named(&self, ids: &[String]) -> Result<Vec<(String, String)>, StoreError> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
            name: String,
        }
        const SQL: OwnedSql = owned!(
            "SELECT id, name FROM collections \
            WHERE tenant = ?1 AND user_id = ?2 AND id IN (SELECT value FROM json_each(?3))"
        );
        let ids = Value::from(ids).to_string();
        let named: Vec<Named> = self.owned.select(SQL, &[text(&ids)]).await?;
        Ok(named.into_iter().map(|Named { id, name }| (id, name)).collect())
    }

    /// Returns whether there was room.
    pub async fn create(&self, new: &Collection) -> Result<bool, StoreError> {
        const SQL: OwnedSql = owned!(
            "INSERT INTO collections \
            (tenant, user_id, id, name, description, created_at, updated_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6 \
            WHERE (SELECT count(*) FROM collections WHERE tenant = ?1 AND user_id = ?2) < ?7 RETURNING id"
        );
        let Collection { id, name, description, created_at, .. } = new;
        let values = [text(id), text(name), text(description), number(*created_at), MAX_COLLECTIONS.into()];
        self.owned.any(SQL, &values).await
    }

    /// A page of a collection's documents, newest first.
    pub async fn documents(
        &self,
        collection_id: &str,
        limit: u32,
        after: Option<(u64, &str)>,
    ) -> Result<Vec<Document>, StoreError> {
        let mut values = vec![text(collection_id), limit.into()];
        let condition = match after {
            None => "",
            Some((at, id)) => {
                values.extend([number(at), text(id)]);
                " AND (created_at, id) < (?5, ?6)"
            }
        };
        let sql = format!("{DOCUMENT}{condition} ORDER BY created_at DESC, id DESC LIMIT ?4");
        self.owned.select(OwnedSql::composed(&sql)?, &values).await
    }

    /// The bytes of all documents of the user.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        #[derive(Deserialize)]
        struct Sum {
            bytes: u64,
        }
        const SQL: OwnedSql = owned!(
            "SELECT coalesce(sum(bytes), 0) AS bytes FROM documents WHERE tenant = ?1 AND user_id = ?2"
        );
        let sum: Option<Sum> = self.owned.first(SQL, &[]).await?;
        Ok(sum.map_or(0, |sum| sum.bytes))
    }

    /// Whether documents and questions are embedded here.
    pub fn embeds(&self) -> bool {
        self.vectors.is_some()
    }

    /// Adds a document with its chunks, all or nothing. Stores the vectors first: a search by meaning would never find a
    /// document without vectors.
    pub async fn add(&self, new: &NewDocument<'_>) -> Result<Result<(), NotAdded>, StoreError> {
        let Some(vectors) = &self.vectors else { return self.write(new).await };
        let NewDocument { document, collection_id, chunks, .. } = new;
        self.begin(document).await?;
        if let Err(error) = vectors.add(&self.scope(collection_id), &document.id, chunks).await {
            self.take_back(document).await;
            return Err(error);
        }
        let added = self.write(new).await;
        if !matches!(added, Ok(Ok(()))) {
            self.take_back(document).await;
        }
        added
    }

    async fn write(&self, new: &NewDocument<'_>) -> Result<Result<(), NotAdded>, StoreError> {
        let NewDocument { document, collection_id, rows: new_rows, .. } = new;
        let Document { id, name, media_type, bytes, chunks: count, created_at } = document;
        let of = |sql, more: &[JsValue]| {
            self.owned.statement(sql, &[&[text(collection_id), text(id)], more].concat())
        };
        let document = [
            text(name),
            text(media_type),
            number(*bytes),
            (*count).into(),
            number(*created_at),
            MAX_DOCUMENTS.into(),
            number(MAX_BYTES),
        ];
        let mut statements = vec![of(ADD, &document)?];
        let scope = text(&self.scope(collection_id));
        for array in arrays(new_rows) {
            statements.push(of(ADD_CHUNKS, &[scope.clone(), text(&array)])?);
        }
        statements.push(of(TOUCH, &[number(*created_at)])?);
        const TAKEN: OwnedSql = owned!(
            "SELECT (SELECT count(*) FROM collections WHERE tenant = ?1 AND user_id = ?2 AND id = ?3) \
            AS collections, (SELECT count(*) FROM documents \
            WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3 AND id <> ?4) AS documents"
        );
        let place = statements.len();
        statements.push(of(TAKEN, &[])?);
        let results = self.owned.batch(statements).await?;
        let added = results.any(0)?;
        let taken = results.rows(place)?.into_iter().next();
        Ok(match taken {
            _ if added => Ok(()),
            Some(Taken { collections: 0, .. }) | None => Err(NotAdded::NoCollection),
            Some(Taken { documents, .. }) if documents >= MAX_DOCUMENTS => Err(NotAdded::TooMany),
            Some(_) => Err(NotAdded::Full),
        })
    }

    fn scope(&self, collection_id: &str) -> String {
        self.owner.token_of(&["collection", collection_id])
    }
}

impl Collections for D1Collections {
    fn search(
        &self,
        collections: &[String],
        question: &str,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Passage>, StoreError>> {
        let scopes: Vec<String> = collections.iter().map(|id| self.scope(id)).collect();
        let by_words = match search::expressions(&scopes, question) {
            None => ready(Ok(Vec::new())).boxed_local(),
            Some(words) => self.owned.select(MATCHING, &[text(&words), limit.into()]),
        };
        let Some(vectors) = self.vectors.clone() else { return by_words };
        let by_meaning =
            near(vectors, self.owned.clone(), scopes, collections.to_vec(), question.to_owned(), limit);
        async move {
            let (by_words, by_meaning) = join(by_words, by_meaning).await;
            let by_meaning = by_meaning.unwrap_or_else(|StoreError(error)| {
                console_error!("{error}");
                Vec::new()
            });
            Ok(fused(by_words?, by_meaning, usize::try_from(limit).unwrap_or(usize::MAX)))
        }
        .boxed_local()
    }
}

/// The passages nearest to a question.
async fn near(
    vectors: Rc<Vectors>,
    owned: Owned,
    scopes: Vec<String>,
    collections: Vec<String>,
    question: String,
    limit: u32,
) -> Result<Vec<Passage>, StoreError> {
    let near = vectors.nearest(&scopes, &question, limit).await?;
    if near.is_empty() {
        return Ok(Vec::new());
    }
    let places = near
        .into_iter()
        .map(|Near { document_id, place, similarity }| json!([document_id, place, similarity]));
    let places = Value::Array(places.collect()).to_string();
    owned.select(AT, &[text(&places), text(&Value::from(collections).to_string())]).await
}
