//! The tables of a thread's object, made in one go by the first write: an object that was never written to has none.
//! And the steps that bring the tables of an older version up to this one. Pure.

/// The version of the tables that this code makes, and to which it brings older ones. It stands in `meta`.
pub const VERSION: i64 = 2;

/// The newest version that this code can work with. A step that older code could not live with takes two releases
/// (CONTRIBUTING.md): the first one raises this, the second one [`VERSION`].
pub const NEWEST_READ: i64 = 2;

/// A change of a table, made where a column is missing, or where it is still there.
struct Change {
    table: &'static str,
    column: &'static str,
    /// Whether the column is there in the tables that need the change.
    there: bool,
    sql: &'static str,
}

const fn lacks(table: &'static str, column: &'static str, sql: &'static str) -> Change {
    Change { table, column, there: false, sql }
}

const fn has(table: &'static str, column: &'static str, sql: &'static str) -> Change {
    Change { table, column, there: true, sql }
}

/// The steps, by the version that they start from. A step looks at columns, since the tables of version 1 had four shapes
/// before the version was ever read.
const STEPS: [(i64, &[Change]); 1] = [(1, &FROM_1)];

const FROM_1: [Change; 9] = [
    lacks(
        "meta",
        "trimmed_through",
        "ALTER TABLE meta ADD COLUMN trimmed_through INTEGER NOT NULL DEFAULT 0",
    ),
    lacks("meta", "approved_tools", "ALTER TABLE meta ADD COLUMN approved_tools TEXT"),
    has("messages", "turn_id", "CREATE INDEX IF NOT EXISTS messages_by_turn ON messages (turn_id)"),
    // A new table, because a UNIQUE constraint cannot be changed.
    lacks(
        "journal",
        "piece",
        "ALTER TABLE journal RENAME TO journal_before;
        CREATE TABLE journal (
          row     INTEGER PRIMARY KEY AUTOINCREMENT,
          turn_id TEXT NOT NULL,
          key     TEXT NOT NULL,
          piece   INTEGER NOT NULL,
          payload TEXT NOT NULL,
          UNIQUE (turn_id, key, piece)
        );
        INSERT INTO journal (row, turn_id, key, piece, payload)
          SELECT row, turn_id, key, 0, payload FROM journal_before ORDER BY row;
        DROP TABLE journal_before",
    ),
    // NOT NULL without a default: no turn could begin with them.
    has("turns", "stalled", "ALTER TABLE turns DROP COLUMN stalled"),
    has("turns", "outcomes", "ALTER TABLE turns DROP COLUMN outcomes"),
    lacks("outbox", "turn_id", "ALTER TABLE outbox ADD COLUMN turn_id TEXT"),
    lacks("outbox", "due_at", "ALTER TABLE outbox ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0"),
    lacks(
        "turns",
        "failing_since",
        "ALTER TABLE turns ADD COLUMN failing_since INTEGER;
        ALTER TABLE turns ADD COLUMN failed_attempts INTEGER;
        ALTER TABLE turns ADD COLUMN retry_at INTEGER",
    ),
];

/// Brings the tables of an older version up to [`VERSION`], step by step. Belongs into one transaction. `has_column` says
/// whether a table has a column, `run` runs statements.
pub fn upgrade<E>(
    from: i64,
    has_column: impl Fn(&str, &str) -> Result<bool, E>,
    run: impl Fn(&str) -> Result<(), E>,
) -> Result<(), E> {
    for (_, changes) in STEPS.iter().filter(|(step, _)| *step >= from) {
        for change in *changes {
            if has_column(change.table, change.column)? == change.there {
                run(change.sql)?;
            }
        }
    }
    run(&format!("UPDATE meta SET schema_version = {VERSION}"))
}

/// All tables. Rows stay below the platform's 2 MB: what is longer is cut or split before it comes here.
pub const CREATE: &str = "
CREATE TABLE meta (
  one            INTEGER PRIMARY KEY CHECK (one = 1),
  schema_version INTEGER NOT NULL,
  -- The first event number that is not reserved. Outlives a deletion, so that no number is ever used twice.
  seq_reserved   INTEGER NOT NULL,
  -- The last number of the newest turn whose events are not kept any more.
  trimmed_through INTEGER NOT NULL DEFAULT 0,
  -- Set by a deletion, which clears all that follows.
  deleted_at     INTEGER,
  owner          TEXT,
  thread_id      TEXT,
  title          TEXT,
  created_at     INTEGER,
  request_seq    INTEGER,
  -- The tools that a person allowed for good: a JSON array of names.
  approved_tools TEXT
);
-- Append-only: a turn's history is frozen as the last rowid before it.
CREATE TABLE messages (
  row            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  turn_id        TEXT NOT NULL,
  role           TEXT NOT NULL,
  content        TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  finish_reason  TEXT,
  -- JSON, like the three that follow; all NULL on a user's message.
  stop           TEXT,
  usage          TEXT,
  execution_tree TEXT,
  -- What the turn adds to the model's view of the conversation.
  history        TEXT
);
CREATE INDEX messages_by_turn ON messages (turn_id);
-- One row per event; a part of streamed text is one row for all its chunks, whose numbers may lie between others'.
CREATE TABLE events (
  seq_first INTEGER PRIMARY KEY,
  seq_last  INTEGER NOT NULL,
  turn_id   TEXT NOT NULL,
  key       TEXT NOT NULL,
  kind      TEXT NOT NULL,
  payload   TEXT NOT NULL,
  UNIQUE (turn_id, key)
);
-- Of the running turn alone. An entry that is too long for a row lies in several, in their order.
CREATE TABLE journal (
  row     INTEGER PRIMARY KEY AUTOINCREMENT,
  turn_id TEXT NOT NULL,
  key     TEXT NOT NULL,
  piece   INTEGER NOT NULL,
  payload TEXT NOT NULL,
  UNIQUE (turn_id, key, piece)
);
CREATE TABLE turns (
  turn_id              TEXT PRIMARY KEY,
  -- running, parked (it waits for somebody outside) or done.
  status               TEXT NOT NULL,
  -- Grows with each run: only the newest may write.
  generation           INTEGER NOT NULL,
  -- Runs after the first.
  resumptions          INTEGER NOT NULL,
  assistant_message_id TEXT NOT NULL,
  seq_first            INTEGER NOT NULL,
  seq_last             INTEGER,
  started_at           INTEGER NOT NULL,
  -- Set while the turn cannot be rebuilt: since when, how many attempts count, and when the next one is made.
  failing_since        INTEGER,
  failed_attempts      INTEGER,
  retry_at             INTEGER
) WITHOUT ROWID;
CREATE INDEX turns_by_seq ON turns (seq_first);
CREATE TABLE timers (
  reason TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL
) WITHOUT ROWID;
-- AUTOINCREMENT: what was taken off is never confused with what came after it.
CREATE TABLE outbox (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  -- The turn that it tells of; NULL where it outlives its turn.
  turn_id  TEXT,
  payload  TEXT NOT NULL,
  -- How often D1 refused it.
  attempts INTEGER NOT NULL,
  -- Not told before this time.
  due_at   INTEGER NOT NULL
);
";

/// The plans of a thread, made when it has its first one: most have none.
pub const CREATE_PLANS: &str = "
CREATE TABLE IF NOT EXISTS plans (
  row     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL UNIQUE,
  -- The turn that changed it last.
  turn_id TEXT NOT NULL,
  status  TEXT NOT NULL,
  payload TEXT NOT NULL
);
";

/// Whether there are any.
pub const HAS_PLANS: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'plans'";

/// Writes a plan as it is now.
pub const UPSERT_PLAN: &str = "
INSERT INTO plans (id, turn_id, status, payload) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET turn_id = excluded.turn_id, status = excluded.status, payload = excluded.payload";

/// The plan that waits for the user's word: the newest, unless the turn that left it so is not part of the conversation
/// before this row any more.
pub const SELECT_DRAFT: &str = "
SELECT payload FROM plans WHERE status = 'pending_review'
AND turn_id IN (SELECT turn_id FROM messages WHERE row < ?1) ORDER BY row DESC LIMIT 1";

/// Empties a deleted thread but for its tombstone and its sequence block, which [`BURY`] leaves.
pub const CLEAR: &str = "
DELETE FROM messages; DELETE FROM events; DELETE FROM journal; DELETE FROM turns; DELETE FROM timers; DELETE FROM outbox;
DROP TABLE IF EXISTS plans;
";

/// Turns the one row of `meta` into a tombstone.
pub const BURY: &str = "
UPDATE meta SET deleted_at = ?1, owner = NULL, thread_id = NULL, title = NULL, created_at = NULL, request_seq = NULL,
  approved_tools = NULL
";
