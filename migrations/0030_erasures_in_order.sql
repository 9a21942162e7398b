-- Erasures that users with data asked for go first: 1. An older Worker, and the retention, begin theirs with 0.
ALTER TABLE erasures ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
CREATE INDEX erasures_by_priority ON erasures (priority DESC, lease_until) WHERE ended_at IS NULL;

-- The HMAC of the network from which a visitor ended their session, by signing out or by an erasure: a new session costs
-- nothing, so those of a network are counted. NULL: the session has not ended so, or there is no secret for the HMAC.
ALTER TABLE sessions ADD COLUMN network TEXT;
CREATE INDEX sessions_ended ON sessions (network, revoked_at) WHERE network IS NOT NULL;
