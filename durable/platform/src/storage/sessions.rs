//! The sessions of workflows in the thread's object; `session_rows.rs` has their statements.

use worker::SqlStorageValue;

use super::StoreError;
use super::session_rows::{self as rows, columns, session_of, step_of};
use super::sql::{Row, Store, int, unsigned};
use super::turn::Reason;
use crate::sessions::advance::{SessionRow, StepRow};
use crate::sessions::notice::notice;
use uuid::Uuid;

/// A notice that is to be sent.
pub struct NoticeRow {
    pub id: u64,
    pub url: String,
    pub payload: String,
    /// How often it was sent in vain.
    pub attempts: u32,
}

impl Store {
    /// The newest session of the thread.
    pub fn session(&self) -> Result<Option<SessionRow>, StoreError> {
        if !self.has_table("workflow_sessions")? {
            return Ok(None);
        }
        self.row(rows::SELECT_SESSION, [])?.map(session_row).transpose()
    }

    /// The session that is not over.
    pub fn open_session(&self) -> Result<Option<SessionRow>, StoreError> {
        Ok(self.session()?.filter(|session| !session.status.is_over()))
    }

    /// The steps of a session that have ended, in their order.
    pub fn ended_steps(&self, session: Uuid) -> Result<Vec<StepRow>, StoreError> {
        let rows = self.rows(rows::SELECT_STEPS, [session.to_string().into()])?;
        let step = |mut row: Row| {
            let texts = [row.text(1)?, row.text(2)?, row.text(3)?, row.text(4)?, row.text(5)?];
            step_of(unsigned(row.int(0)?), texts)
        };
        rows.into_iter().map(step).collect()
    }

    /// Writes a session that begins. It takes the place of one that is over.
    pub fn begin_session(&self, row: &SessionRow) -> Result<(), StoreError> {
        self.run(rows::CREATE_SESSIONS, [])?;
        self.run(rows::FORGET_SESSION, [])?;
        self.upsert_session(row)
    }

    /// Writes a change of the session, with the step that it ends, and posts the notice of its end. The caller opens a
    /// transaction and sets the alarm.
    pub fn put_session(
        &self,
        before: &SessionRow,
        row: &SessionRow,
        ended: Option<&StepRow>,
    ) -> Result<(), StoreError> {
        self.upsert_session(row)?;
        if let Some(StepRow { step, notes, updates, nonce, key_id, digest }) = ended {
            let bindings = [
                row.id.to_string().into(),
                int(u64::from(*step)),
                serde_json::to_string(notes)?.into(),
                serde_json::to_string(updates)?.into(),
                nonce.text().into(),
                key_id.as_str().into(),
                digest.as_str().into(),
            ];
            self.run(rows::INSERT_STEP, bindings)?;
        }
        let Some((url, notice)) = notice(Some(before), row) else { return Ok(()) };
        self.run(rows::INSERT_NOTICE, [url.into(), serde_json::to_string(&notice)?.into()])?;
        self.hasten_timer(Reason::Notices, row.updated_at)
    }

    fn upsert_session(&self, row: &SessionRow) -> Result<(), StoreError> {
        let ([id, workflow, mode, definition, goal, status, context, nonce, key], reason, numbers) =
            columns(row)?;
        let [version, revision, step, refused, created_at, updated_at] = numbers.map(int);
        let reason = reason.map_or(SqlStorageValue::Null, SqlStorageValue::from);
        let bindings = [
            id.into(),
            workflow.into(),
            mode.into(),
            definition.into(),
            goal.into(),
            status.into(),
            reason,
            context.into(),
            nonce.into(),
            key.into(),
            version,
            revision,
            step,
            refused,
            created_at,
            updated_at,
        ];
        self.run(rows::UPSERT_SESSION, bindings)
    }

    /// Whether a session has told its readers of a repeated call.
    pub fn has_repeated_call(&self, session: Uuid) -> Result<bool, StoreError> {
        if !self.has_table("workflow_repeats")? {
            return Ok(false);
        }
        Ok(self.row(rows::SELECT_REPEATS, [session.to_string().into()])?.is_some())
    }

    /// Writes that it has. A session of former code has no table for that yet.
    pub fn note_repeated_call(&self, session: Uuid) -> Result<(), StoreError> {
        self.run(rows::CREATE_SESSIONS, [])?;
        self.run(rows::INSERT_REPEATS, [session.to_string().into()])
    }

    /// The oldest notice that is to be sent.
    pub fn next_notice(&self) -> Result<Option<NoticeRow>, StoreError> {
        if !self.has_table("workflow_sessions")? {
            return Ok(None);
        }
        let Some(mut row) = self.row(rows::SELECT_NOTICE, [])? else { return Ok(None) };
        let attempts = u32::try_from(row.int(3)?).unwrap_or(u32::MAX);
        Ok(Some(NoticeRow { id: unsigned(row.int(0)?), url: row.text(1)?, payload: row.text(2)?, attempts }))
    }

    /// Counts a notice that was sent in vain.
    pub fn count_notice(&self, id: u64) -> Result<(), StoreError> {
        self.run(rows::COUNT_NOTICE, [int(id)])
    }

    /// Takes a notice away.
    pub fn forget_notice(&self, id: u64) -> Result<(), StoreError> {
        self.run(rows::DELETE_NOTICE, [int(id)])
    }
}

fn session_row(mut row: Row) -> Result<SessionRow, StoreError> {
    let texts = [
        row.text(0)?,
        row.text(1)?,
        row.text(2)?,
        row.text(3)?,
        row.text(4)?,
        row.text(5)?,
        row.text(7)?,
        row.text(8)?,
        row.text(9)?,
    ];
    let number = |column: usize| row.int(column).map(unsigned);
    let numbers = [number(10)?, number(11)?, number(12)?, number(13)?, number(14)?, number(15)?];
    let reason = row.maybe_text(6);
    session_of(texts, reason, numbers)
}
