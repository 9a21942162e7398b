-- Sessions that were opened with an API key (`POST /api/session`). A session is found by the SHA-256 (hex) of its cookie;
-- the cookie itself is never stored. Each look-up joins api_keys, so a session never outlives its key. Signing out deletes
-- the row.
CREATE TABLE sessions (
  hash       TEXT    NOT NULL PRIMARY KEY,
  key_prefix TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- For the bound on the sessions of a key.
CREATE INDEX sessions_by_key ON sessions (key_prefix, created_at, hash);

-- For deleting what is over.
CREATE INDEX sessions_by_end ON sessions (expires_at);
