-- The workflows of users: a row each, with the newest version of its definition. A version never changes: a session takes
-- a copy of the definition with which it begins.
CREATE TABLE workflows (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  -- Chosen by the user.
  id         TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  -- JSON, at most 64 KiB.
  definition TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
);
