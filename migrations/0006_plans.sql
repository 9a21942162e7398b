-- Plans of agents. The thread's object is the authority; rows come from its outbox, as upserts.
CREATE TABLE plans (
  tenant         TEXT    NOT NULL,
  user_id        TEXT    NOT NULL,
  thread_id      TEXT    NOT NULL,
  id             TEXT    NOT NULL,
  -- The turn that changed it last.
  turn_id        TEXT    NOT NULL,
  objective      TEXT    NOT NULL,
  intent_label   TEXT,
  -- The chat context that it was made in.
  context_type   TEXT    NOT NULL,
  entity_id      TEXT,
  execution_mode TEXT    NOT NULL,
  status         TEXT    NOT NULL,
  -- approved, needs_changes, rejected; NULL where nobody reviewed it.
  review_verdict TEXT,
  -- The whole plan, JSON.
  payload        TEXT    NOT NULL,
  revision       INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, thread_id, id)
);

-- For metrics of reviews over a period.
CREATE INDEX plans_by_time ON plans (tenant, user_id, created_at);

-- What a tool call was part of, and, of calls that make plans or act on them, what they were asked for.
ALTER TABLE tool_usage ADD COLUMN context_type TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_usage ADD COLUMN execution_mode TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_usage ADD COLUMN detail TEXT;
