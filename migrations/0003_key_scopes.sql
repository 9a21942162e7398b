-- API keys have scopes (words with spaces between them), and say when they were last used, to the hour.
-- A key from before may do what all keys could.

ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'read write';
ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;

-- For the list of a tenant's keys.
CREATE INDEX api_keys_by_tenant ON api_keys (tenant, created_at, prefix);
