-- What a deletion blanks is found by its thread. Only rows that still say something are in the index; tenant, user and id
-- are in it as the primary key.
CREATE INDEX tool_usage_with_detail ON tool_usage (thread_id) WHERE detail IS NOT NULL;
CREATE INDEX error_log_with_message ON error_log (thread_id) WHERE message <> '';
