//! The accounts of a tenant in their object's SQLite.

use super::StoreError;
use super::sql::{Store, int, unsigned};
use crate::quota::Shelf;

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS accounts (
  key        TEXT PRIMARY KEY,
  -- JSON.
  value      TEXT NOT NULL,
  -- From then on the row means nothing any more.
  keep_until INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS accounts_by_age ON accounts (keep_until);
";

/// The largest time that JavaScript represents exactly: for ever.
const FOREVER: u64 = (1 << 53) - 1;

/// The accounts of an object. Its statements belong into one transaction.
pub struct Accounts<'a>(&'a Store);

impl<'a> Accounts<'a> {
    /// Makes the table if it is not there.
    pub fn open(store: &'a Store) -> Result<Self, StoreError> {
        store.run(CREATE, [])?;
        Ok(Accounts(store))
    }

    /// Deletes the rows that have lost their meaning.
    pub fn forget(&self, now: u64) -> Result<(), StoreError> {
        self.0.run("DELETE FROM accounts WHERE keep_until <= ?1", [int(now)])
    }

    /// When the next row loses its meaning.
    pub fn oldest(&self) -> Result<Option<u64>, StoreError> {
        let query = "SELECT min(keep_until) FROM accounts WHERE keep_until < ?1";
        let row = self.0.row(query, [int(FOREVER)])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map(unsigned))
    }
}

impl Shelf for Accounts<'_> {
    type Error = StoreError;

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        let row = self.0.row("SELECT value FROM accounts WHERE key = ?1", [key.into()])?;
        row.map(|mut row| row.text(0)).transpose()
    }

    fn put(&mut self, key: &str, value: &str, keep_until: u64) -> Result<(), StoreError> {
        let query = "INSERT INTO accounts (key, value, keep_until) VALUES (?1, ?2, ?3)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value, keep_until = excluded.keep_until";
        self.0.run(query, [key.into(), value.into(), int(keep_until.min(FOREVER))])
    }

    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        self.0.run("DELETE FROM accounts WHERE key = ?1", [key.into()])
    }
}
