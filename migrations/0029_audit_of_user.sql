-- For a user's export: without it each page reads the log of the whole tenant, and all visitors are one tenant.
CREATE INDEX audit_of_user ON audit (user_id, created_at, id);
