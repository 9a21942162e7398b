-- Pinned threads, which stand above a user's list. NULL: not pinned. The Worker writes it, and the news of the thread's
-- object leave it as it is. It goes with the thread.
ALTER TABLE threads ADD COLUMN pinned_at INTEGER;

-- At most 20 rows for a user. A turn changes no column of it, so it costs a turn no row.
CREATE INDEX threads_pinned ON threads (tenant, user_id) WHERE pinned_at IS NOT NULL;
