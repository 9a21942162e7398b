-- How a model call went: NULL where no byte of an answer came.
ALTER TABLE llm_usage ADD COLUMN first_byte_ms INTEGER;
-- Requests beyond the first, to whichever model of the chain. `provider` and `model` are of the one that answered.
ALTER TABLE llm_usage ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;

-- What a failure was part of.
ALTER TABLE error_log ADD COLUMN context_type TEXT NOT NULL DEFAULT '';
ALTER TABLE error_log ADD COLUMN execution_mode TEXT NOT NULL DEFAULT '';
