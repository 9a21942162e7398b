-- The audit log: who did what, and when. The code appends to it and reads it. Rows are a tenant's. They outlive thread and
-- user, because the log answers for deletions too, and go by age alone. No row has a text of a conversation, and none a
-- secret: `target` is an id, `detail` the name of a tool or a key's scopes.
--
-- A row that a thread's object sends arrives late or twice, so its time and id are made where the deed was done.
CREATE TABLE audit (
  tenant     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  -- A UUID.
  id         TEXT    NOT NULL,
  -- The user who did it.
  user_id    TEXT    NOT NULL,
  -- A word of the enum `AuditAction`.
  action     TEXT    NOT NULL,
  -- The key's prefix, the session's id or the thread's.
  target     TEXT    NOT NULL,
  detail     TEXT,
  -- An HMAC of the client's address. NULL: the service did it within a turn, or there is no secret for the HMAC.
  address    TEXT,
  PRIMARY KEY (tenant, created_at, id)
) WITHOUT ROWID;

-- For the retention, which looks across tenants.
CREATE INDEX audit_by_time ON audit (created_at);
