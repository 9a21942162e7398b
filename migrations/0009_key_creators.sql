-- Who minted an API key: the prefix of the key that did, so that revoking a key revokes all that came of it. Null where the
-- operator minted it (`make key`), and for keys from before.

ALTER TABLE api_keys ADD COLUMN created_by TEXT;

-- For finding what came of a key.
CREATE INDEX api_keys_by_creator ON api_keys (tenant, created_by);
