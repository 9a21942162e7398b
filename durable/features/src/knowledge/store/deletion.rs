//! The deletion of documents. The vectors go before the rows, because the rows alone tell which vectors there are.

use serde::Deserialize;
use serde_json::Value;
use worker::console_error;
use worker::wasm_bindgen::JsValue;

use super::collections::D1Collections;
use super::vectors::MAX_VECTORS;
use crate::knowledge::statements::{DELETE_COLLECTION, DELETE_DOCUMENTS};
use bindings::d1::{Statement, text};
use bindings::sql::OwnedSql;
use wire::store::StoreError;

/// The most documents whose vectors are deleted at once.
const PORTION: u32 = 20;
/// The most calls of Vectorize for that. A step of an erasure counts them as its requests.
pub const REMOVALS: u32 = 10;

/// A document, and its number of chunks: it has as many vectors.
#[derive(Deserialize)]
pub struct Embedded {
    pub id: String,
    pub chunks: u32,
}

impl D1Collections {
    /// Deletes a collection with its documents. Returns whether it existed. The vectors go first: without the rows nothing
    /// would find them again. `log` runs before the first row goes, in its transaction.
    pub async fn delete(&self, id: &str, log: Statement) -> Result<bool, StoreError> {
        let mut log = Some(log);
        while self.embeds() {
            let (known, _) = self.without_vectors("collection_id = ?3", &[text(id)], PORTION).await?;
            if known.is_empty() {
                break;
            }
            // A deletion that breaks off goes on from here when it is repeated.
            self.drop_rows(id, known, log.take()).await?;
        }
        let place = usize::from(log.is_some());
        let [chunks, documents, collection] =
            DELETE_COLLECTION.map(|sql| self.owned.statement(sql, &[text(id)]));
        let statements = log.into_iter().chain([chunks?, documents?, collection?]).collect();
        let results = self.owned.batch(statements).await?;
        // Documents that were added while the others were deleted.
        self.forget(results.rows(place + 1)?).await;
        results.any(place + 2)
    }

    /// Deletes a document. Returns whether it existed. The vectors go first. `log` runs before the rows go, in their
    /// transaction.
    pub async fn remove(&self, collection_id: &str, id: &str, log: Statement) -> Result<bool, StoreError> {
        self.without_vectors("collection_id = ?3 AND id = ?4", &[text(collection_id), text(id)], 1).await?;
        self.drop_rows(collection_id, vec![id.to_owned()], Some(log)).await
    }

    /// Deletes the rows of some documents of a collection. Returns whether there were any.
    pub(super) async fn drop_rows(
        &self,
        collection_id: &str,
        ids: Vec<String>,
        log: Option<Statement>,
    ) -> Result<bool, StoreError> {
        let ids = Value::from(ids).to_string();
        let place = usize::from(log.is_some());
        let [chunks, documents] =
            DELETE_DOCUMENTS.map(|sql| self.owned.statement(sql, &[text(collection_id), text(&ids)]));
        self.owned.batch(log.into_iter().chain([chunks?, documents?]).collect()).await?.any(place + 1)
    }

    /// Deletes the vectors of some documents of the user, in the order of their ids. The documents stay: their rows tell
    /// which vectors there are. Returns the id after which there are more.
    pub async fn erase_vectors(&self, after: &str) -> Result<Option<String>, StoreError> {
        let (mut ids, is_last) = self.without_vectors("id > ?3", &[text(after)], PORTION).await?;
        Ok(ids.pop().filter(|_| !is_last))
    }

    /// Deletes the vectors of the first of the user's documents for which a condition holds, and returns their ids, and
    /// whether there are no others: so many at most, and no more than [`REMOVALS`] calls take, but at least one.
    pub(super) async fn without_vectors(
        &self,
        condition: &str,
        values: &[JsValue],
        most: u32,
    ) -> Result<(Vec<String>, bool), StoreError> {
        let Some(vectors) = &self.vectors else { return Ok((Vec::new(), true)) };
        let sql = format!(
            "SELECT id, chunks FROM documents WHERE tenant = ?1 AND user_id = ?2 AND {condition} ORDER BY id LIMIT {most}"
        );
        let found: Vec<Embedded> = self.owned.select(OwnedSql::composed(&sql)?, values).await?;
        let (count, mut taken) = (found.len(), 0);
        let fits = |document: &Embedded| {
            let is_first = taken == 0;
            taken += document.chunks;
            is_first || taken <= REMOVALS * MAX_VECTORS
        };
        let some = found.into_iter().take_while(fits).map(|Embedded { id, chunks }| (id, chunks));
        let documents: Vec<_> = some.collect();
        vectors.remove(&documents).await?;
        let is_last = documents.len() == count && count < most as usize;
        Ok((documents.into_iter().map(|(id, _)| id).collect(), is_last))
    }

    /// Deletes the vectors of deleted documents. Vectors that stay after a failure find nothing.
    async fn forget(&self, documents: Vec<Embedded>) {
        let Some(vectors) = &self.vectors else { return };
        let documents: Vec<_> = documents.into_iter().map(|Embedded { id, chunks }| (id, chunks)).collect();
        if let Err(StoreError(error)) = vectors.remove(&documents).await {
            console_error!("{error}");
        }
    }
}
