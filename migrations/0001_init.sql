-- The index across threads. A thread's object is the authority for its messages; what stands here is
-- written by that object alone, from its outbox, as upserts, so a row may arrive late or twice.
--
-- Every key begins with (tenant, user_id): thread and turn ids are chosen by clients, so an id alone
-- identifies nothing. WITHOUT ROWID stores a row in the key's own tree: one write and one lookup
-- instead of two. Tables whose rows hold whole messages keep a rowid, because large rows make a
-- keyed tree shallow and slow to search.
--
-- No CHECK constraints: a row that D1 refuses would stay in a thread's outbox for ever.
--
-- Times are integer milliseconds since 1970. Migrations are append-only: change nothing here.

CREATE TABLE threads (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;

-- A user's threads, newest first; the id breaks ties so that a cursor neither skips nor repeats.
CREATE INDEX threads_by_recency ON threads (tenant, user_id, updated_at DESC, id DESC);

CREATE TABLE messages (
  tenant         TEXT    NOT NULL,
  user_id        TEXT    NOT NULL,
  id             TEXT    NOT NULL,
  thread_id      TEXT    NOT NULL,
  turn_id        TEXT    NOT NULL,
  role           TEXT    NOT NULL,
  content        TEXT    NOT NULL,
  -- JSON, like usage; both are NULL on a user's message.
  execution_tree TEXT,
  usage          TEXT,
  finish_reason  TEXT,
  created_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
);

-- For deleting a thread, and for reading it where its object is not at hand.
CREATE INDEX messages_by_thread ON messages (tenant, user_id, thread_id, created_at, id);

-- One row per LLM call, failed ones included: what was spent must add up.
CREATE TABLE llm_usage (
  tenant         TEXT    NOT NULL,
  user_id        TEXT    NOT NULL,
  id             TEXT    NOT NULL,
  thread_id      TEXT    NOT NULL,
  turn_id        TEXT    NOT NULL,
  provider       TEXT    NOT NULL,
  model          TEXT    NOT NULL,
  operation_type TEXT    NOT NULL,
  context_type   TEXT    NOT NULL,
  profile        TEXT    NOT NULL,
  execution_mode TEXT    NOT NULL,
  input_tokens   INTEGER NOT NULL,
  cached_tokens  INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  -- NULL: the model's price is not known, which is not the same as free.
  cost_usd       REAL,
  duration_ms    INTEGER NOT NULL,
  outcome        TEXT    NOT NULL,
  created_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;

-- For sums over a period.
CREATE INDEX llm_usage_by_time ON llm_usage (tenant, user_id, created_at);

CREATE TABLE tool_usage (
  tenant      TEXT    NOT NULL,
  user_id     TEXT    NOT NULL,
  id          TEXT    NOT NULL,
  thread_id   TEXT    NOT NULL,
  turn_id     TEXT    NOT NULL,
  tool_name   TEXT    NOT NULL,
  duration_ms INTEGER NOT NULL,
  is_error    INTEGER NOT NULL,
  outcome     TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;

-- Messages are redacted before they come here.
CREATE TABLE error_log (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  thread_id  TEXT    NOT NULL,
  turn_id    TEXT    NOT NULL,
  component  TEXT    NOT NULL,
  stage      TEXT    NOT NULL,
  tool_name  TEXT,
  code       TEXT    NOT NULL,
  message    TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;

-- For the operator, who looks across tenants.
CREATE INDEX error_log_by_time ON error_log (created_at);

-- The one table that is read before a tenant is known: a key is found by the prefix that it shows,
-- and proved by the SHA-256 (hex) of the whole key. The key itself is never stored.
CREATE TABLE api_keys (
  prefix     TEXT    NOT NULL PRIMARY KEY,
  hash       TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) WITHOUT ROWID;
