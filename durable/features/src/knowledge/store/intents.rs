//! Documents whose vectors are being stored. The row of such a document says which vectors there may be, before the first one
//! is there: an upload that broke off leaves none that an erasure could not find. It has no collection and no name, so that
//! nothing lists or finds it. The document's own row takes its place.

use worker::console_error;

use super::collections::{D1Collections, MAX_DOCUMENTS};
use bindings::d1::{number, text};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::Document;
use wire::store::StoreError;

/// The collection of these rows.
const NONE: &str = "";
/// After this time (milliseconds) the upload has broken off: no request runs for an hour.
const BROKEN_OFF_MS: u64 = 3_600_000;
/// The most documents of a broken-off upload that the next upload removes.
const PORTION: u32 = 5;

const BEGIN: OwnedSql = owned!(
    "INSERT INTO documents \
    (tenant, user_id, id, collection_id, name, media_type, bytes, chunks, created_at) \
    SELECT ?1, ?2, ?3, '', '', '', 0, ?4, ?5 \
    WHERE (SELECT count(*) FROM documents WHERE tenant = ?1 AND user_id = ?2 AND collection_id = '') < ?6 \
    RETURNING id"
);

impl D1Collections {
    /// Writes the row of a document whose vectors come next, and removes some of uploads that broke off.
    pub(super) async fn begin(&self, document: &Document) -> Result<(), StoreError> {
        let Document { id, chunks, created_at, .. } = document;
        let before = number(created_at.saturating_sub(BROKEN_OFF_MS));
        let stale = "collection_id = '' AND created_at < ?3";
        let (ids, _) = self.without_vectors(stale, &[before], PORTION).await?;
        if !ids.is_empty() {
            self.drop_rows(NONE, ids, None).await?;
        }
        let values = [text(id), (*chunks).into(), number(*created_at), MAX_DOCUMENTS.into()];
        match self.owned.any(BEGIN, &values).await? {
            true => Ok(()),
            false => {
                Err(StoreError(format!("{MAX_DOCUMENTS} documents have vectors that could not be deleted")))
            }
        }
    }

    /// Deletes the vectors of a document that was not added, and then its row. The row stays where the vectors stay.
    pub(super) async fn take_back(&self, document: &Document) {
        let this = "collection_id = '' AND id = ?3";
        let taken = async {
            let (ids, _) = self.without_vectors(this, &[text(&document.id)], 1).await?;
            self.drop_rows(NONE, ids, None).await
        };
        if let Err(StoreError(error)) = taken.await {
            console_error!("{error}");
        }
    }
}
