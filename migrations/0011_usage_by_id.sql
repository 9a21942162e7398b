-- The ids of llm_usage begin with the time of their turn (they are UUIDv7), so the primary key serves the sums of a time as
-- well. The index cost a written row for each model call. A Worker of the version before still answers without it.
DROP INDEX llm_usage_by_time;
