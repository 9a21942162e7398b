//! The messages that came to a thread's path or left it, as D1's rows have them.

use super::{News, Outgoing, json_rows};
use crate::storage::StoreError;

/// Search and lists look at the messages on the path. A row that is right already is not written again.
const MOVE_MESSAGES: &str = "
UPDATE messages SET beside = moved.beside FROM (
  SELECT value ->> 0 AS tenant, value ->> 1 AS user_id, value ->> 2 AS id, value ->> 3 AS beside
  FROM json_each(?1)) AS moved
WHERE messages.tenant = moved.tenant AND messages.user_id = moved.user_id AND messages.id = moved.id
  AND messages.beside <> moved.beside";

/// The rows of messages that an object with older tables has deleted.
const DELETE_REPLACED: &str = "
DELETE FROM messages WHERE (tenant, user_id, id) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1))";

/// The rows of an answer, whose ids begin with the message's id and a slash (`telemetry.rs`); a zero comes after a
/// slash.
const BLANK_REPLACED_DETAILS: &str = "
UPDATE tool_usage SET detail = NULL WHERE detail IS NOT NULL AND (tenant, user_id, id) IN (
  SELECT t.tenant, t.user_id, t.id FROM json_each(?1) JOIN tool_usage t ON t.tenant = value ->> 0
  AND t.user_id = value ->> 1 AND t.id >= (value ->> 2) || '/' AND t.id < (value ->> 2) || '0')";

const BLANK_REPLACED_ERRORS: &str = "
UPDATE error_log SET message = '' WHERE message <> '' AND (tenant, user_id, id) IN (
  SELECT e.tenant, e.user_id, e.id FROM json_each(?1) JOIN error_log e ON e.tenant = value ->> 0
  AND e.user_id = value ->> 1 AND e.id >= (value ->> 2) || '/' AND e.id < (value ->> 2) || '0')";

/// The messages that moved, of all news of a batch.
#[derive(Default)]
pub struct Moves<'n> {
    moved: Vec<(&'n str, &'n str, &'n str, u8)>,
    deleted: Vec<(&'n str, &'n str, &'n str)>,
}

impl<'n> Moves<'n> {
    /// Adds the messages of these news.
    pub fn add(&mut self, out: &'n Outgoing) {
        let (tenant, user_id) = (out.tenant.as_str(), out.user_id.as_str());
        match &out.news {
            News::MessagesReplaced { ids } => {
                self.deleted.extend(ids.iter().map(|id| (tenant, user_id, id.as_str())));
            }
            News::PathChanged { messages, .. } => {
                let moved =
                    messages.iter().map(|(id, beside)| (tenant, user_id, id.as_str(), u8::from(*beside)));
                self.moved.extend(moved);
            }
            _ => {}
        }
    }

    /// The statements, each with its rows.
    pub fn statements(&self) -> Result<[(&'static str, Vec<String>); 4], StoreError> {
        let deleted = json_rows(&self.deleted)?;
        Ok([
            (MOVE_MESSAGES, json_rows(&self.moved)?),
            (DELETE_REPLACED, deleted.clone()),
            (BLANK_REPLACED_DETAILS, deleted.clone()),
            (BLANK_REPLACED_ERRORS, deleted),
        ])
    }
}
