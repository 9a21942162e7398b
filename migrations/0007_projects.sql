-- The project domain: templates, projects, tasks, documents. D1 is the authority for them; each thread's
-- agent writes them through its tools, with ids that are made of the operation, so a repeated write is none.
CREATE TABLE project_items (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  -- template, project, task, document.
  kind       TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  -- The project that a task or a document belongs to; empty where it belongs to none.
  project_id TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  -- JSON.
  body       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  -- The call that wrote it last.
  operation  TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, kind, id)
);

CREATE INDEX project_items_of ON project_items (tenant, user_id, kind, project_id, created_at, id);
