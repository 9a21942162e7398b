//! The sessions of a thread as rows: their tables and statements, and what a row has of a session. Pure.

use uuid::Uuid;

use super::StoreError;
use crate::sessions::advance::{SessionRow, StepRow};
use crate::sessions::tokens::Nonce;
use wire::protocol::{SessionMode, SessionStatus};

/// The newest session of a thread, made with its first one: most threads have none. A session that begins takes the place
/// of one that is over, so a thread has at most one.
///
/// A row of a session has the definition and the context, 64 KiB each, and the goal; a row of a step its notes, of at most
/// 20,000 characters, and 64 KiB of values. So each stays far below the platform's 2 MB.
pub const CREATE_SESSIONS: &str = "
CREATE TABLE IF NOT EXISTS workflow_sessions (
  id          TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  version     INTEGER NOT NULL,
  -- service, external.
  mode        TEXT NOT NULL,
  -- JSON: the definition with which the session began.
  definition  TEXT NOT NULL,
  goal        TEXT NOT NULL,
  status      TEXT NOT NULL,
  reason      TEXT,
  -- The number of the last change.
  revision    INTEGER NOT NULL,
  -- The place of the step at which it stands, from 0.
  step        INTEGER NOT NULL,
  -- JSON: the values that the steps have handed on.
  context     TEXT NOT NULL,
  -- Of the token that ends the step. No row has a token or a secret.
  nonce       TEXT NOT NULL,
  key_id      TEXT NOT NULL,
  -- How many tokens were refused since the last one that was not.
  refused     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS workflow_steps (
  session_id TEXT NOT NULL,
  step       INTEGER NOT NULL,
  -- JSON.
  notes      TEXT NOT NULL,
  -- JSON: the values that it handed on.
  updates    TEXT NOT NULL,
  -- Of the token that ended the step.
  nonce      TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  -- SHA-256 of the request that ended it.
  digest     TEXT NOT NULL,
  PRIMARY KEY (session_id, step)
);
-- The sessions that have told their readers of a repeated call. A session does so once.
CREATE TABLE IF NOT EXISTS workflow_repeats (
  session_id TEXT PRIMARY KEY
);
-- The ends of sessions of which an address is to hear.
CREATE TABLE IF NOT EXISTS workflow_notices (
  id       INTEGER PRIMARY KEY,
  url      TEXT NOT NULL,
  -- JSON.
  payload  TEXT NOT NULL,
  -- How often it was sent in vain.
  attempts INTEGER NOT NULL DEFAULT 0
);
";

/// The thread's session.
pub const SELECT_SESSION: &str = "
SELECT id, workflow_id, mode, definition, goal, status, reason, context, nonce, key_id, version, revision, step, refused,
  created_at, updated_at FROM workflow_sessions ORDER BY created_at DESC, id DESC LIMIT 1";

/// Writes a session as it is now.
pub const UPSERT_SESSION: &str = "
INSERT INTO workflow_sessions (id, workflow_id, mode, definition, goal, status, reason, context, nonce, key_id, version,
  revision, step, refused, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, reason = excluded.reason, context = excluded.context,
  nonce = excluded.nonce, key_id = excluded.key_id, revision = excluded.revision, step = excluded.step,
  refused = excluded.refused, updated_at = excluded.updated_at";

/// The steps of a session that have ended, in their order.
pub const SELECT_STEPS: &str = "SELECT step, notes, updates, nonce, key_id, digest FROM workflow_steps WHERE session_id = ?1 ORDER BY step";

/// Writes a step that has ended. A step ends once.
pub const INSERT_STEP: &str = "INSERT INTO workflow_steps (session_id, step, notes, updates, nonce, key_id, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// Takes away the session that is over, for another one.
pub const FORGET_SESSION: &str =
    "DELETE FROM workflow_repeats; DELETE FROM workflow_steps; DELETE FROM workflow_sessions";

/// The same of one session, where there is a table.
pub const SELECT_REPEATS: &str = "SELECT 1 FROM workflow_repeats WHERE session_id = ?1";
/// Writes that it has.
pub const INSERT_REPEATS: &str = "INSERT OR IGNORE INTO workflow_repeats (session_id) VALUES (?1)";

/// Writes a notice.
pub const INSERT_NOTICE: &str = "INSERT INTO workflow_notices (url, payload) VALUES (?1, ?2)";
/// The oldest notice.
pub const SELECT_NOTICE: &str = "SELECT id, url, payload, attempts FROM workflow_notices ORDER BY id LIMIT 1";
/// Counts a notice that was sent in vain.
pub const COUNT_NOTICE: &str = "UPDATE workflow_notices SET attempts = attempts + 1 WHERE id = ?1";
/// Takes a notice away.
pub const DELETE_NOTICE: &str = "DELETE FROM workflow_notices WHERE id = ?1";

/// The columns of a session that are texts, in the order of the statements; the seventh may be NULL.
pub type Texts = [String; 9];
/// The columns that are numbers.
pub type Numbers = [u64; 6];

/// A session as columns: the texts without the reason, the reason, and the numbers.
pub fn columns(row: &SessionRow) -> Result<(Texts, Option<String>, Numbers), StoreError> {
    let texts = [
        row.id.to_string(),
        row.workflow_id.clone(),
        row.mode.as_str().to_owned(),
        serde_json::to_string(&row.definition)?,
        row.goal.clone(),
        row.status.as_str().to_owned(),
        serde_json::to_string(&row.context)?,
        row.nonce.text(),
        row.key_id.clone(),
    ];
    let numbers = [
        u64::from(row.version),
        row.revision,
        u64::from(row.step),
        u64::from(row.refused),
        row.created_at,
        row.updated_at,
    ];
    Ok((texts, row.reason.clone(), numbers))
}

/// The session of these columns.
pub fn session_of(texts: Texts, reason: Option<String>, numbers: Numbers) -> Result<SessionRow, StoreError> {
    let [id, workflow_id, mode, definition, goal, status, context, nonce, key_id] = texts;
    let [version, revision, step, refused, created_at, updated_at] = numbers;
    let small = |value: u64| u32::try_from(value).map_err(|_| unreadable("a number"));
    Ok(SessionRow {
        id: Uuid::try_parse(&id).map_err(|_| unreadable("its id"))?,
        workflow_id,
        version: small(version)?,
        mode: [SessionMode::Service, SessionMode::External]
            .into_iter()
            .find(|known| known.as_str() == mode)
            .ok_or_else(|| unreadable("its mode"))?,
        definition: wire::json::from_str(&definition)?,
        goal,
        status: status_of(&status).ok_or_else(|| unreadable("its status"))?,
        reason,
        revision,
        step: small(step)?,
        context: wire::json::from_str(&context)?,
        nonce: Nonce::read(&nonce).ok_or_else(|| unreadable("its nonce"))?,
        key_id,
        refused: small(refused)?,
        created_at,
        updated_at,
    })
}

fn status_of(name: &str) -> Option<SessionStatus> {
    use SessionStatus as S;
    let all = [S::Running, S::Waiting, S::NeedsHumanReview, S::Stuck, S::Complete, S::Failed];
    all.into_iter().find(|status| status.as_str() == name)
}

/// The step of these columns.
pub fn step_of(
    step: u64,
    [notes, updates, nonce, key_id, digest]: [String; 5],
) -> Result<StepRow, StoreError> {
    Ok(StepRow {
        step: u32::try_from(step).map_err(|_| unreadable("the place of a step"))?,
        notes: wire::json::from_str(&notes)?,
        updates: wire::json::from_str(&updates)?,
        nonce: Nonce::read(&nonce).ok_or_else(|| unreadable("the nonce of a step"))?,
        key_id,
        digest,
    })
}

fn unreadable(what: &str) -> StoreError {
    StoreError(format!("a session: {what} cannot be read"))
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter, types::Value};
    use serde_json::json;

    use super::*;
    use crate::storage::schema::{CLEAR, CREATE};
    use wire::protocol::{SessionContext, StepNotes, WorkflowDefinition};

    /// A session whose members are as long as they may be.
    fn longest(status: SessionStatus) -> SessionRow {
        let step = |at: usize| json!({ "id": format!("s{at}"), "title": "x", "instructions": "\u{1}".repeat(9_000) });
        let definition = json!({ "name": "A procedure", "steps": [step(0)] });
        let mut context = SessionContext::new();
        context.insert("k".to_owned(), "\u{1}".repeat(10_000).into());
        SessionRow {
            id: Uuid::from_u128(7),
            workflow_id: "procedure".to_owned(),
            version: 3,
            mode: SessionMode::External,
            definition: WorkflowDefinition::parse(definition.to_string().as_bytes()).unwrap(),
            goal: "é".repeat(4_000),
            status,
            reason: Some("retry".to_owned()),
            revision: 9,
            step: 1,
            context,
            nonce: Nonce([3; 16]),
            key_id: "0a1b2c3d".to_owned(),
            refused: 2,
            created_at: 1,
            updated_at: 2,
        }
    }

    fn thread() -> Connection {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        thread.execute_batch(CREATE_SESSIONS).unwrap();
        thread
    }

    fn put(thread: &Connection, row: &SessionRow) {
        let (texts, reason, numbers) = columns(row).unwrap();
        let mut values: Vec<Value> = texts.into_iter().map(Value::from).collect();
        values.insert(6, reason.map_or(Value::Null, Value::from));
        values.extend(numbers.map(|number| Value::from(number as i64)));
        thread.execute(UPSERT_SESSION, params_from_iter(values)).unwrap();
    }

    fn get(thread: &Connection) -> Option<SessionRow> {
        let read = |row: &rusqlite::Row<'_>| {
            let text = |at: usize| row.get::<_, String>(at);
            let number = |at: usize| row.get::<_, i64>(at).map(|value| value as u64);
            let texts =
                [text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, text(5)?, text(7)?, text(8)?, text(9)?];
            let numbers = [number(10)?, number(11)?, number(12)?, number(13)?, number(14)?, number(15)?];
            Ok((texts, row.get(6)?, numbers))
        };
        let found = thread.query_row(SELECT_SESSION, [], read).ok();
        found.map(|(texts, reason, numbers)| session_of(texts, reason, numbers).unwrap())
    }

    #[test]
    fn a_session_is_read_back_as_it_was_written() {
        let thread = thread();
        assert_eq!(get(&thread), None);
        use SessionStatus as S;
        for status in [S::Running, S::Waiting, S::NeedsHumanReview, S::Stuck, S::Complete, S::Failed] {
            let row = SessionRow { reason: None, ..longest(status) };
            put(&thread, &row);
            assert_eq!(get(&thread), Some(row), "{status:?}");
        }
        put(&thread, &longest(S::Stuck));
        assert_eq!(get(&thread), Some(longest(S::Stuck)));
    }

    // W-104: the notes of the longest session take a row each, and no row comes near the platform's 2 MB.
    #[test]
    fn rows_are_bounded() {
        let (texts, ..) = columns(&longest(SessionStatus::Waiting)).unwrap();
        let session: usize = texts.iter().map(String::len).sum();
        // The longest members as JSON: definition and context have 64 KiB each, the goal 4,000 characters.
        assert!(session < 2 * (64 << 10) + 4 * 4_000 + 1_000, "{session}");
        let artifacts =
            vec!["\u{1}".repeat(wire::protocol::MAX_ARTIFACT_CHARS); wire::protocol::MAX_ARTIFACTS];
        let notes = "\u{1}".repeat(wire::protocol::MAX_NOTES_CHARS);
        let notes = StepNotes { step_id: "s".repeat(64), notes, artifacts };
        assert!(serde_json::to_string(&notes).unwrap().len() < 300_000);
    }

    #[test]
    fn a_step_ends_once_and_all_goes_with_the_thread() {
        let thread = thread();
        put(&thread, &longest(SessionStatus::Waiting));
        let notes = r#"{"step_id":"s0","notes":"done"}"#;
        let nonce = Nonce([4; 16]).text();
        let step = ["7", "0", notes, "{}", nonce.as_str(), "0a1b2c3d", "digest"];
        thread.execute(INSERT_STEP, step).unwrap();
        assert!(thread.execute(INSERT_STEP, step).is_err(), "one step row, whoever asks");
        let texts = [notes, "{}", &nonce, "0a1b2c3d", "digest"].map(str::to_owned);
        assert_eq!(step_of(0, texts).unwrap().notes.notes, "done");
        thread.execute(INSERT_NOTICE, ["https://a.test", "{}"]).unwrap();
        thread.execute_batch(CLEAR).unwrap();
        for table in ["workflow_sessions", "workflow_steps", "workflow_repeats", "workflow_notices"] {
            let there = thread.prepare(&format!("SELECT 1 FROM {table}"));
            assert!(there.is_err(), "{table} is gone");
        }
    }

    #[test]
    fn a_session_gives_way_to_another_one() {
        let thread = thread();
        let (row, session) = (longest(SessionStatus::Complete), Uuid::from_u128(8).to_string());
        put(&thread, &row);
        thread.execute(INSERT_REPEATS, [&session]).unwrap();
        thread.execute_batch(FORGET_SESSION).unwrap();
        assert_eq!((get(&thread), has_repeats(&thread, &session)), (None, false));
    }

    fn has_repeats(thread: &Connection, session: &str) -> bool {
        thread.prepare(SELECT_REPEATS).unwrap().exists([session]).unwrap()
    }

    // W-097: the mark outlives turns. Former code, also after a rollback, reads and writes sessions beside it, and its
    // threads get the table with the first mark.
    #[test]
    fn a_session_tells_of_a_repeated_call_once() {
        let thread = thread();
        thread.execute_batch("DROP TABLE workflow_repeats").unwrap();
        let row = longest(SessionStatus::Waiting);
        put(&thread, &row);
        assert!(!crate::storage::has_table(&thread, "workflow_repeats"));
        let (session, other) = (row.id.to_string(), Uuid::from_u128(9).to_string());
        for _ in 0..2 {
            thread.execute_batch(CREATE_SESSIONS).unwrap();
            thread.execute(INSERT_REPEATS, [&session]).unwrap();
        }
        assert!(crate::storage::has_table(&thread, "workflow_repeats"));
        put(&thread, &row);
        assert_eq!(get(&thread), Some(row));
        assert!(has_repeats(&thread, &session) && !has_repeats(&thread, &other));
    }
}
