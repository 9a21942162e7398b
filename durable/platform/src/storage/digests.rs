//! The digests of requests that came with a key; `digest_rows.rs` has their statements.

use super::sql::Store;
use super::{StoreError, digest_rows as rows};

impl Store {
    /// The digest of the request that began a turn; none where it came without a key, or in a turn of before.
    pub fn request_digest(&self, turn_id: &str) -> Result<Option<String>, StoreError> {
        if !self.has_table("request_digests")? {
            return Ok(None);
        }
        self.row(rows::SELECT_DIGEST, [turn_id.into()])?.map(|mut row| row.text(0)).transpose()
    }

    /// Keeps the digest of the request that begins a turn.
    pub fn keep_request_digest(&self, turn_id: &str, digest: &str) -> Result<(), StoreError> {
        self.make_table("request_digests", rows::CREATE_DIGESTS)?;
        self.run(rows::INSERT_DIGEST, [turn_id.into(), digest.into()])
    }
}
