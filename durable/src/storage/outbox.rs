//! The outbox: what D1 has not taken yet, in order.

use super::StoreError;
use super::outgoing::Outgoing;
use super::sql::{Store, int, unsigned};

/// What is sent in one batch.
pub struct Parcel {
    /// In the order in which they were written.
    pub rows: Vec<Outgoing>,
    /// All rows up to this one.
    pub through: u64,
    /// How often D1 refused the oldest.
    pub attempts: u32,
}

/// The most rows of a batch, and where it ends by its size: D1 takes parameters of up to 2 MB.
const ROWS: usize = 32;
const BYTES: usize = 1_000_000;

impl Store {
    /// Puts news into the outbox. Belongs into the transaction of what it tells.
    pub fn post(&self, outgoing: &Outgoing) -> Result<(), StoreError> {
        let payload = serde_json::to_string(outgoing)?;
        self.run("INSERT INTO outbox (payload, attempts) VALUES (?1, 0)", [payload.into()])
    }

    /// The oldest news; none where D1 has heard of everything.
    pub fn parcel(&self) -> Result<Option<Parcel>, StoreError> {
        let query = "SELECT id, payload, attempts FROM outbox ORDER BY id LIMIT ?1";
        let mut parcel: Option<Parcel> = None;
        let mut bytes = 0;
        for mut row in self.rows(query, [int(ROWS as u64)])? {
            let (id, payload) = (unsigned(row.int(0)?), row.text(1)?);
            bytes += payload.len();
            let attempts = u32::try_from(row.int(2)?).unwrap_or(u32::MAX);
            let parcel = parcel.get_or_insert_with(|| Parcel { rows: Vec::new(), through: id, attempts });
            if bytes > BYTES && !parcel.rows.is_empty() {
                break;
            }
            parcel.rows.push(serde_json::from_str(&payload)?);
            parcel.through = id;
        }
        Ok(parcel)
    }

    /// Whether D1 has not heard of everything.
    pub fn has_news(&self) -> Result<bool, StoreError> {
        Ok(self.row("SELECT 1 FROM outbox LIMIT 1", [])?.is_some())
    }

    /// D1 took a parcel.
    pub fn delivered(&self, through: u64) -> Result<(), StoreError> {
        self.run("DELETE FROM outbox WHERE id <= ?1", [int(through)])
    }

    /// D1 refused a parcel.
    pub fn refused(&self, through: u64) -> Result<(), StoreError> {
        self.run("UPDATE outbox SET attempts = attempts + 1 WHERE id <= ?1", [int(through)])
    }

    /// What must survive a deletion: the deletion itself, and what was spent.
    pub fn last_news(&self, deleted: Outgoing) -> Result<Vec<Outgoing>, StoreError> {
        let mut last = Vec::new();
        for mut row in self.rows("SELECT payload FROM outbox ORDER BY id", [])? {
            let outgoing: Outgoing = serde_json::from_str(&row.text(0)?)?;
            last.extend(outgoing.without_content());
        }
        last.push(deleted);
        Ok(last)
    }
}
