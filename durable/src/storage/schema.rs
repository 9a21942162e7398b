//! The tables of a thread's object, made in one go by the first write: an object that was never written to has none.

/// Written to `meta`; a later version of the service brings older objects forward when it first writes to them.
pub const VERSION: i64 = 1;

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
  started_at           INTEGER NOT NULL
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
