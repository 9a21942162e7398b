//! A thread's wish for a title; `title_rows.rs` has its statements.

use super::sql::Store;
use super::{StoreError, title_rows as rows};

impl Store {
    /// The wish, as JSON.
    pub fn wish(&self) -> Result<Option<String>, StoreError> {
        if !self.has_table("title_wish")? {
            return Ok(None);
        }
        self.row(rows::SELECT_WISH, [])?.map(|mut row| row.text(0)).transpose()
    }

    /// Keeps a wish in place of the one before.
    pub fn keep_wish(&self, json: &str) -> Result<(), StoreError> {
        self.make_table("title_wish", rows::CREATE_WISH)?;
        self.run(rows::UPSERT_WISH, [json.into()])
    }

    /// Forgets the wish. Its table must be there.
    pub fn forget_wish(&self) -> Result<(), StoreError> {
        self.run(rows::DELETE_WISH, [])
    }

    /// Whether a model finished an answer in another turn.
    pub fn has_answer_beside(&self, turn_id: &str) -> Result<bool, StoreError> {
        Ok(self.row(rows::HAS_ANSWER_BESIDE, [turn_id.into()])?.is_some())
    }

    /// The texts of a turn that has ended: the message and its answer.
    pub fn exchange(&self, turn_id: &str) -> Result<Option<(String, String)>, StoreError> {
        let mut texts = Vec::new();
        for mut row in self.rows(rows::SELECT_EXCHANGE, [turn_id.into()])? {
            texts.push(row.text(1)?);
        }
        Ok(<[String; 2]>::try_from(texts).ok().map(|[question, answer]| (question, answer)))
    }
}
