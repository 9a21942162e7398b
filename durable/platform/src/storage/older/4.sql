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
-- Append-only: a turn's history is frozen as the last row before it. The row is the number of an event of the turn, so
-- it is never used twice, although messages may be replaced: clients have it as a cursor. Version 2 counted its
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
-- Of the running turn alone: entries as JSON, one after another. Some commits share a row. A commit that is too long for
-- a row lies in several, numbered from 0.
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
  retry_at             INTEGER
) WITHOUT ROWID;
CREATE INDEX turns_by_seq ON turns (seq_first);
-- Only what the other tables do not say: when a wait expires, when a queued turn asks again, when D1 is asked again
-- after a refusal.
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

-- The rows of one turn, as the code of that time left them. OWNER, USER and THREAD stand for the test's own.
INSERT INTO meta (one, schema_version, seq_reserved, owner, thread_id, title, created_at)
  VALUES (1, 4, 65, 'OWNER', 'THREAD', 'An old thread', 1000);
INSERT INTO messages (row, id, turn_id, role, content, created_at) VALUES (1, 'old-question', 'old-turn', 'user', 'Are you old?', 1001);
INSERT INTO messages (row, id, turn_id, role, content, created_at, finish_reason, history)
  VALUES (3, 'old-answer', 'old-turn', 'assistant', 'Quite.', 1002, 'stop',
    '[{"user":{"content":"Are you old?"}},{"assistant":{"content":"Quite.","tool_calls":[],"raw":null}}]');
INSERT INTO events (seq_first, seq_last, turn_id, payload) VALUES
  (1, 1, 'old-turn', '[[1,"session","session",{"type":"session","thread_id":"THREAD","user_message_id":"old-question","assistant_message_id":"old-answer","provider":"openai","model":"fake-1"}]]'),
  (2, 2, 'old-turn', '[[2,"cost_summary","cost_summary",{"type":"cost_summary","input_tokens":0,"cached_tokens":0,"output_tokens":0,"cost_usd":0.0,"by_model":{},"llm_calls":0,"tool_calls":0,"subtasks":0}]]'),
  (3, 3, 'old-turn', '[[3,"done","done",{"type":"done","message_id":"old-answer","finish_reason":"stop"}]]');
INSERT INTO journal (turn_id, piece, payload) VALUES ('old-turn', 0, '{"at":""}'), ('old-turn', 0, '{"at":"0"}');
INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, started_at)
  VALUES ('old-turn', 'done', 1, 0, 'old-answer', 1, 3, 1000);
INSERT INTO timers (reason, due_at) VALUES ('outbox', 1000);
INSERT INTO outbox (payload, attempts, turn_id, due_at)
  VALUES ('{"tenant":"public","user_id":"USER","thread_id":"THREAD","news":{"kind":"renamed","thread":{"title":"An old thread","created_at":1000,"updated_at":1002}}}', 0, 'old-turn', 1000);
