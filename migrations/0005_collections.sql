-- Documents that a user searches, and lets turns search.

CREATE TABLE collections (
  tenant      TEXT    NOT NULL,
  user_id     TEXT    NOT NULL,
  id          TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  description TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;

CREATE INDEX collections_by_recency ON collections (tenant, user_id, created_at DESC, id DESC);

CREATE TABLE documents (
  tenant        TEXT    NOT NULL,
  user_id       TEXT    NOT NULL,
  id            TEXT    NOT NULL,
  collection_id TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  media_type    TEXT    NOT NULL,
  -- As it was sent; what is kept of it is its text, in pieces.
  bytes         INTEGER NOT NULL,
  chunks        INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;

CREATE INDEX documents_by_collection
  ON documents (tenant, user_id, collection_id, created_at DESC, id DESC, bytes);

-- Rows are written with their document and deleted with it, never changed. `number` names the row in the index: without
-- a column of its own a row's number may change (VACUUM).
CREATE TABLE chunks (
  number        INTEGER PRIMARY KEY,
  tenant        TEXT    NOT NULL,
  user_id       TEXT    NOT NULL,
  collection_id TEXT    NOT NULL,
  document_id   TEXT    NOT NULL,
  -- Its place in the document, from 1 on.
  place         INTEGER NOT NULL,
  -- The headings that it stands under.
  heading       TEXT    NOT NULL,
  text          TEXT    NOT NULL,
  -- The words of heading and text as they are indexed (durable/features/src/knowledge/search.rs).
  terms         TEXT    NOT NULL,
  -- The token of owner and collection, by which a search is narrowed before it finds anything.
  scope         TEXT    NOT NULL
);

CREATE UNIQUE INDEX chunks_by_document ON chunks (tenant, user_id, document_id, place);
CREATE INDEX chunks_by_collection ON chunks (tenant, user_id, collection_id);

CREATE VIRTUAL TABLE chunks_fts USING fts5 (
  scope, terms,
  content = 'chunks', content_rowid = 'number',
  tokenize = "ascii"
);
-- Not `secure-delete`, as memories have it: it takes 10 ms a row and more, and a collection has thousands. What is
-- deleted is found no more at once, and its words leave the index's pages when those are merged.

CREATE TRIGGER chunks_indexed AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts (rowid, scope, terms) VALUES (new.number, new.scope, new.terms);
END;

CREATE TRIGGER chunks_unindexed AFTER DELETE ON chunks BEGIN
  INSERT INTO chunks_fts (chunks_fts, rowid, scope, terms)
    VALUES ('delete', old.number, old.scope, old.terms);
END;
