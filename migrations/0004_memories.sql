-- What the service remembers about a user from one thread to the next, because they asked for it. Rows are written once
-- and deleted, never changed but for `updated_at`.
--
-- `number` names the row in the index: without a column of its own a row's number may change (VACUUM).

CREATE TABLE memories (
  number     INTEGER PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  -- Where it was said.
  thread_id  TEXT    NOT NULL,
  content    TEXT    NOT NULL,
  -- The words of it as they are indexed (durable/features/src/knowledge/search.rs).
  terms      TEXT    NOT NULL,
  -- The owner's token, by which a search is narrowed before it finds anything.
  scope      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE UNIQUE INDEX memories_by_id ON memories (tenant, user_id, id);
-- Nothing is remembered twice.
CREATE UNIQUE INDEX memories_by_content ON memories (tenant, user_id, content);
CREATE INDEX memories_by_recency ON memories (tenant, user_id, updated_at DESC, id DESC);

CREATE VIRTUAL TABLE memories_fts USING fts5 (
  scope, terms,
  content = 'memories', content_rowid = 'number',
  tokenize = "ascii"
);
-- What is deleted leaves the index at once, not when its pages are merged.
INSERT INTO memories_fts (memories_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memories_indexed AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (rowid, scope, terms) VALUES (new.number, new.scope, new.terms);
END;

CREATE TRIGGER memories_unindexed AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, scope, terms)
    VALUES ('delete', old.number, old.scope, old.terms);
END;
