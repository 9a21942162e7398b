-- Sessions can be listed and ended by their user. A row of a visitor has no key: `key_prefix` is empty, `user_id` names
-- the visitor, and `hash` is made of that id, because a renewed cookie is still the same session. It begins with the first
-- turn. An older Worker finds no key for it, and leaves it alone until `expires_at`.
ALTER TABLE sessions ADD COLUMN user_id TEXT;
-- The last renewal. NULL: an earlier version wrote the row.
ALTER TABLE sessions ADD COLUMN seen_at INTEGER;
-- The browser and the system in short form, at most 40 characters.
ALTER TABLE sessions ADD COLUMN agent TEXT;
-- A visitor's session that was ended. The row stays until no cookie of it is valid; other sessions end with their row.
ALTER TABLE sessions ADD COLUMN revoked_at INTEGER;

-- For the sessions of a user, who may have several keys.
CREATE INDEX api_keys_by_user ON api_keys (tenant, user_id);
