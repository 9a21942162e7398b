//! The rows of a thread for its owner's export; `export_rows.rs` has the tables and the pages.

use serde_json::Value;
use worker::SqlStorageValue;

use super::StoreError;
use super::export_rows::{self, Page, ROWS, Table, select};
use super::sql::{Row, Store, int};

impl Store {
    /// A page of rows, from a table and a row on.
    pub fn export(&self, place: (usize, i64)) -> Result<Page, StoreError> {
        export_rows::page(place, |table, after| self.rows_of(table, after))
    }

    fn rows_of(&self, table: &Table, after: i64) -> Result<Vec<(i64, Vec<Value>)>, StoreError> {
        if !self.has_table(table.name)? {
            return Ok(Vec::new());
        }
        let rows = self.rows(&select(table), [SqlStorageValue::Integer(after), int(ROWS as u64)])?;
        let members = |row: &mut Row, at: usize| match row.maybe_int(at) {
            Some(number) => number.into(),
            None => row.maybe_text(at).map_or(Value::Null, Value::String),
        };
        let told = |mut row: Row| {
            let number = row.int(0)?;
            Ok((number, (1..=table.members.len()).map(|at| members(&mut row, at)).collect()))
        };
        rows.into_iter().map(told).collect()
    }
}
