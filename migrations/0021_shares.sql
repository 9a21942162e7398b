-- Share links, with the snapshot of the conversation that each gives to everybody who has the link. A row goes with its
-- revocation, with its time, with its thread, and with all data of its user.
CREATE TABLE shares (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  thread_id  TEXT    NOT NULL,
  -- The SHA-256 (hex) of the token. The token itself is stored nowhere.
  hash       TEXT    NOT NULL,
  -- The thread's title at that time.
  title      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  -- Null: it ends when it is revoked.
  expires_at INTEGER,
  -- What the user chose to show (0 or 1).
  tools      INTEGER NOT NULL,
  reasoning  INTEGER NOT NULL,
  files      INTEGER NOT NULL,
  messages   INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  -- The snapshot (JSON), the last column: a list reads the others without it.
  content    TEXT    NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
);

CREATE UNIQUE INDEX shares_by_hash ON shares (hash);
CREATE INDEX shares_of_thread ON shares (tenant, user_id, thread_id);
-- For those who delete links whose time is over: few rows are in it.
CREATE INDEX shares_that_expire ON shares (expires_at) WHERE expires_at IS NOT NULL;
