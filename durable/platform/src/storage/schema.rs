//! The tables of a thread's object, and the steps that bring the tables of an older version up to this one. The first
//! write makes all tables in one go; an object that was never written to has none. Pure.

/// The version of the tables that this code makes, and to which it upgrades older ones. It stands in `meta`.
pub const VERSION: i64 = 5;

/// The newest version that this code can work with. A step that older code could not live with takes two releases
/// (CONTRIBUTING.md): the first one raises this, the second one [`VERSION`]. Versions 3 to 5 took one, because no release
/// had been made before them: code of an earlier version refuses their tables.
pub const NEWEST_READ: i64 = 5;

/// A change of a table, made where a column is missing, or where it is still there.
struct Change {
    table: &'static str,
    column: &'static str,
    /// Whether the tables that need the change have the column.
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
const STEPS: [(i64, &[Change]); 4] = [(1, &FROM_1), (2, &FROM_2), (3, &FROM_3), (4, &FROM_4)];

const FROM_1: [Change; 8] = [
    lacks(
        "meta",
        "trimmed_through",
        "ALTER TABLE meta ADD COLUMN trimmed_through INTEGER NOT NULL DEFAULT 0",
    ),
    lacks("meta", "approved_tools", "ALTER TABLE meta ADD COLUMN approved_tools TEXT"),
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
    // NOT NULL without a default: a turn could not begin with them.
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

/// One row for each commit in the place of one for each entry and event, and as few indexes as the reads need. The table
/// of messages stays as it is: copying it would copy every conversation.
const FROM_2: [Change; 4] = [
    has(
        "journal",
        "key",
        "ALTER TABLE journal RENAME TO journal_before;
        CREATE TABLE journal (
          row     INTEGER PRIMARY KEY,
          turn_id TEXT NOT NULL,
          piece   INTEGER NOT NULL,
          payload TEXT NOT NULL
        );
        INSERT INTO journal (row, turn_id, piece, payload)
          SELECT row, turn_id, piece, payload FROM journal_before ORDER BY row;
        DROP TABLE journal_before",
    ),
    // Text is put together: SQLite would write parsed JSON in another form.
    has(
        "events",
        "key",
        "ALTER TABLE events RENAME TO events_before;
        CREATE TABLE events (
          seq_first INTEGER PRIMARY KEY,
          seq_last  INTEGER NOT NULL,
          turn_id   TEXT NOT NULL,
          payload   TEXT NOT NULL
        );
        INSERT INTO events (seq_first, seq_last, turn_id, payload)
          SELECT seq_first, seq_last, turn_id,
            '[[' || seq_first || ',' || json_quote(key) || ',' || json_quote(kind) || ',' || payload || ']]'
          FROM events_before ORDER BY seq_first;
        DROP TABLE events_before",
    ),
    has("messages", "turn_id", "DROP INDEX IF EXISTS messages_by_turn"),
    has(
        "outbox",
        "id",
        "ALTER TABLE outbox RENAME TO outbox_before;
        CREATE TABLE outbox (
          id       INTEGER PRIMARY KEY,
          turn_id  TEXT,
          payload  TEXT NOT NULL,
          attempts INTEGER NOT NULL,
          due_at   INTEGER NOT NULL
        );
        INSERT INTO outbox (id, turn_id, payload, attempts, due_at)
          SELECT id, turn_id, payload, attempts, due_at FROM outbox_before ORDER BY id;
        DROP TABLE outbox_before",
    ),
];

/// The parts of a message.
const FROM_3: [Change; 1] = [lacks("messages", "parts", "ALTER TABLE messages ADD COLUMN parts TEXT")];

/// The tree of turns, and the hooks of a thread. Older turns follow one another, so a thread of an older version is one
/// path.
const FROM_4: [Change; 4] = [
    lacks(
        "turns",
        "parent_seq",
        "ALTER TABLE turns ADD COLUMN parent_seq INTEGER;
        CREATE INDEX turns_apart ON turns (parent_seq, seq_first) WHERE parent_seq IS NOT NULL",
    ),
    lacks("meta", "path_seq", "ALTER TABLE meta ADD COLUMN path_seq INTEGER"),
    lacks("meta", "hooks", "ALTER TABLE meta ADD COLUMN hooks TEXT"),
    // A plan is stored for each turn that changes it. Version 4 deleted the messages of replaced turns: the plans of such
    // turns are drafts of no conversation.
    has(
        "plans",
        "row",
        "ALTER TABLE plans RENAME TO plans_before;
        CREATE TABLE plans (
          number  INTEGER PRIMARY KEY AUTOINCREMENT,
          id      TEXT NOT NULL,
          turn_id TEXT NOT NULL,
          status  TEXT NOT NULL,
          payload TEXT NOT NULL,
          UNIQUE (id, turn_id)
        );
        INSERT INTO plans (number, id, turn_id, status, payload)
          SELECT row, id, turn_id, status, payload FROM plans_before
          WHERE turn_id IN (SELECT turn_id FROM messages) ORDER BY row;
        DROP TABLE plans_before",
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

/// All tables. Rows stay below the platform's 2 MB: longer values are cut or split before they come here.
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
  approved_tools TEXT,
  -- The turn, by its first number, with which the path ends that a person chose; NULL: the newest turn.
  path_seq       INTEGER,
  -- The hooks of the thread, in the order in which they are asked: a JSON array of at most 100 kB.
  hooks          TEXT
);
-- Append-only: a turn's history is frozen as the last row before it. The row is the number of an event of the turn, so
-- it is never used twice: clients have it as a cursor. Versions up to 4 deleted replaced messages. Version 2 counted its
-- messages, which are fewer than their events.
CREATE TABLE messages (
  row            INTEGER PRIMARY KEY,
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
  history        TEXT,
  -- JSON: what readers of the turn saw, in order. NULL on a user's message, and where an earlier version wrote it.
  parts          TEXT
);
-- One row for each commit (more where it is long): a JSON array of [number, key, kind, event or text]. The numbers of a
-- text's chunks may lie between those of other rows.
CREATE TABLE events (
  seq_first INTEGER PRIMARY KEY,
  seq_last  INTEGER NOT NULL,
  turn_id   TEXT NOT NULL,
  payload   TEXT NOT NULL
);
-- Of the running turn, and of ended turns whose record R2 has not taken yet: entries as JSON, one after another. Some
-- commits share a row. A commit that is too long for a row lies in several, numbered from 0.
CREATE TABLE journal (
  row     INTEGER PRIMARY KEY,
  turn_id TEXT NOT NULL,
  piece   INTEGER NOT NULL,
  payload TEXT NOT NULL
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
  retry_at             INTEGER,
  -- The turn, by its first number, that this one follows; 0: none. NULL: the turn that began before it.
  parent_seq           INTEGER
) WITHOUT ROWID;
CREATE INDEX turns_by_seq ON turns (seq_first);
-- Without rows for turns that follow the turn before them.
CREATE INDEX turns_apart ON turns (parent_seq, seq_first) WHERE parent_seq IS NOT NULL;
-- Only what the other tables do not say: when a wait expires, when a queued turn asks again, when the turn of the
-- next queued message starts, when D1 or R2 is asked again after a refusal, when a model is asked for the title.
CREATE TABLE timers (
  reason TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL
) WITHOUT ROWID;
-- An id may be used again once its row is deleted. The drain alone deletes rows, and a deletion of the thread, whose own
-- rows have higher ids.
CREATE TABLE outbox (
  id       INTEGER PRIMARY KEY,
  -- The turn that it tells of; NULL where it outlives its turn.
  turn_id  TEXT,
  payload  TEXT NOT NULL,
  -- How often D1 refused it.
  attempts INTEGER NOT NULL,
  -- Not told before this time.
  due_at   INTEGER NOT NULL
);
";

/// The plans of a thread, made with its first plan: most threads have none. A plan has a row for each turn that changed it,
/// because another version of that turn goes on from the plan as it was before.
pub const CREATE_PLANS: &str = "
CREATE TABLE IF NOT EXISTS plans (
  -- Grows with each change of a plan.
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  status  TEXT NOT NULL,
  payload TEXT NOT NULL,
  UNIQUE (id, turn_id)
);
";

/// The oldest turn that has ended and still has a journal.
pub const SELECT_ENDED_JOURNAL: &str = "
SELECT turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, failing_since,
    failed_attempts, retry_at FROM turns WHERE turn_id IN (SELECT turn_id FROM journal) AND status = 'done' ORDER BY seq_first LIMIT 1";

/// The tables that are there: a thread has most of them only once something is in them.
pub const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";

/// The ended turns that still have a journal, the oldest first, and its bytes.
pub const SELECT_WAITING: &str = "
SELECT turn_id, sum(length(CAST(payload AS BLOB))) FROM journal JOIN turns USING (turn_id) WHERE status = 'done'
GROUP BY turn_id ORDER BY seq_first";

/// Writes a plan as a turn leaves it.
pub const UPSERT_PLAN: &str = "
INSERT INTO plans (id, turn_id, status, payload) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id, turn_id) DO UPDATE SET status = excluded.status, payload = excluded.payload";

/// The messages that wait for their turn, made with the first of them: most threads have none. A row stays below the
/// platform's 2 MB, because `queueing::MAX_PAYLOAD_BYTES` bounds its payload and the wire its words.
pub const CREATE_QUEUE: &str = "
CREATE TABLE IF NOT EXISTS queued_messages (
  -- Their order.
  row         INTEGER PRIMARY KEY,
  -- The id of the turn that the message will have.
  id          TEXT NOT NULL UNIQUE,
  -- JSON: the request, and the address of a visitor, whose turn is judged when it starts.
  payload     TEXT NOT NULL,
  -- The words of the message, and a JSON array of labels for its images and files.
  words       TEXT NOT NULL,
  attachments TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  -- How often its turn could not start for a while.
  attempts    INTEGER NOT NULL DEFAULT 0,
  -- JSON: why its turn was refused. NULL where it was not.
  failure     TEXT
);
CREATE TABLE IF NOT EXISTS removed_messages (
  row INTEGER PRIMARY KEY,
  -- The id of a message that was taken out of the queue before its turn.
  id  TEXT NOT NULL UNIQUE
);
";

/// Puts a message at the end of the queue, unless the queue has ?6 messages. A message that is there stays as it is.
pub const PUT_QUEUED: &str = "
INSERT INTO queued_messages (id, payload, words, attachments, created_at)
SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT count(*) FROM queued_messages) < ?6
ON CONFLICT (id) DO NOTHING RETURNING row";

/// The queue as clients see it.
pub const SELECT_QUEUE: &str =
    "SELECT id, words, attachments, created_at, failure FROM queued_messages ORDER BY row";

/// The message whose turn comes next.
pub const SELECT_NEXT: &str = "SELECT id, payload, attempts FROM queued_messages ORDER BY row LIMIT 1";

/// Takes a message out of the queue.
pub const TAKE_QUEUED: &str = "DELETE FROM queued_messages WHERE id = ?1 RETURNING row";

/// Remembers a message that is removed.
pub const PUT_REMOVED: &str = "INSERT INTO removed_messages (id) VALUES (?1) ON CONFLICT (id) DO NOTHING";

/// Forgets the oldest removed messages beyond ?1.
pub const TRIM_REMOVED: &str =
    "DELETE FROM removed_messages WHERE row <= (SELECT max(row) FROM removed_messages) - ?1";

/// Whether a message was removed.
pub const IS_REMOVED: &str = "SELECT 1 FROM removed_messages WHERE id = ?1";

/// The summaries of a thread, made with its first one: most threads have none.
pub const CREATE_SUMMARIES: &str = "
CREATE TABLE IF NOT EXISTS summaries (
  -- The row of the last answer that it covers, and its turn. It covers all turns before that one on the same path.
  covers     INTEGER PRIMARY KEY,
  turn_id    TEXT NOT NULL,
  text       TEXT NOT NULL,
  model      TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
";

/// Writes a summary. One that covers the same messages goes.
pub const UPSERT_SUMMARY: &str = "
INSERT OR REPLACE INTO summaries (covers, turn_id, text, model, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Keeps the newest eight: a conversation goes on with the last one, the others serve other versions of its turns.
pub const TRIM_SUMMARIES: &str = "
DELETE FROM summaries WHERE covers NOT IN (
  SELECT covers FROM summaries ORDER BY created_at DESC, covers DESC LIMIT 8)";

/// Empties a deleted thread but for its tombstone and its sequence block, which [`BURY`] leaves, and its news.
pub const CLEAR: &str = "
DELETE FROM messages; DELETE FROM events; DELETE FROM journal; DELETE FROM turns; DELETE FROM timers;
DROP TABLE IF EXISTS plans; DROP TABLE IF EXISTS agent_lives; DROP TABLE IF EXISTS workflow_repeats;
DROP TABLE IF EXISTS queued_messages; DROP TABLE IF EXISTS removed_messages;
DROP TABLE IF EXISTS summaries; DROP TABLE IF EXISTS kept_instructions; DROP TABLE IF EXISTS title_wish;
DROP TABLE IF EXISTS workflow_sessions; DROP TABLE IF EXISTS workflow_steps; DROP TABLE IF EXISTS workflow_notices;
DROP TABLE IF EXISTS request_digests; DROP TABLE IF EXISTS agents; DROP TABLE IF EXISTS agent_states; DROP TABLE IF EXISTS agent_rounds;
";

/// Turns the one row of `meta` into a tombstone.
pub const BURY: &str = "
UPDATE meta SET deleted_at = ?1, owner = NULL, thread_id = NULL, title = NULL, created_at = NULL, request_seq = NULL,
  approved_tools = NULL, path_seq = NULL, hooks = NULL
";
