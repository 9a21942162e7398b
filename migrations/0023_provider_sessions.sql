-- A session that an identity provider's answer opened (`OIDC`) has no key: `key_prefix` is empty, and the row names its user
-- by tenant and `user_id`. It goes when the user signs out or ends it, and after `expires_at` with the next session that is
-- written. An older Worker finds no key for it, refuses its cookie, and leaves the row alone until `expires_at`.
ALTER TABLE sessions ADD COLUMN tenant TEXT;

-- For the sessions of such a user, newest first.
CREATE INDEX sessions_by_user ON sessions (tenant, user_id, created_at, hash) WHERE tenant IS NOT NULL;
