-- The erasure of all data of a user: a row for the last one that they asked for. It says where the job stands. After its end
-- it says that and when it was, and goes after 30 days. It is nothing that the user told: it names them, as the audit does.
CREATE TABLE erasures (
  tenant      TEXT    NOT NULL,
  user_id     TEXT    NOT NULL,
  -- The SHA-256 (hex) of the receipt, by which anybody who has it reads the progress: the user's keys and sessions end
  -- with the beginning of the job.
  receipt     TEXT    NOT NULL,
  started_at  INTEGER NOT NULL,
  -- The step at which the job stands, and the numbers of what is gone (JSON).
  stage       TEXT    NOT NULL,
  removed     TEXT    NOT NULL,
  -- One driver owns the job until then; each driver has another number.
  lease       INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  -- How often in a row a step failed.
  failures    INTEGER NOT NULL DEFAULT 0,
  ended_at    INTEGER,
  PRIMARY KEY (tenant, user_id)
) WITHOUT ROWID;

CREATE UNIQUE INDEX erasures_by_receipt ON erasures (receipt);
-- For those who drive jobs on: few rows are in it.
CREATE INDEX erasures_open ON erasures (lease_until) WHERE ended_at IS NULL;
CREATE INDEX erasures_ended ON erasures (ended_at) WHERE ended_at IS NOT NULL;
