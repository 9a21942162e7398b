//! The custom instructions that the last turn of a thread began with, for turns that begin while D1 does not answer.

use super::sql::Store;
use super::{StoreError, instruction_rows};

impl Store {
    /// The instructions, as JSON, and the project of their turn; none where there were none.
    pub fn kept_instructions(&self) -> Result<Option<(String, String)>, StoreError> {
        if !self.has_table("kept_instructions")? {
            return Ok(None);
        }
        let row = self.row(instruction_rows::SELECT_INSTRUCTIONS, [])?;
        row.map(|mut row| Ok((row.text(0)?, row.text(1)?))).transpose()
    }

    /// Keeps instructions in place of the ones before.
    pub fn keep_instructions(&self, project: &str, json: &str) -> Result<(), StoreError> {
        self.make_table("kept_instructions", instruction_rows::CREATE_INSTRUCTIONS)?;
        self.run(instruction_rows::UPSERT_INSTRUCTIONS, [project.into(), json.into()])
    }
}
