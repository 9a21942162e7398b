-- The runs of the retention: a row for each, with the numbers of what it deleted. It says where the run stands. A row goes
-- after 400 days. It has no data of anybody.
CREATE TABLE retention_runs (
  started_at  INTEGER NOT NULL PRIMARY KEY,
  -- The step at which the run stands, and the numbers of what is gone (JSON).
  stage       TEXT    NOT NULL,
  removed     TEXT    NOT NULL,
  -- One driver owns the run until then; each driver has another number.
  lease       INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  -- How often in a row a step failed.
  failures    INTEGER NOT NULL DEFAULT 0,
  ended_at    INTEGER
);
