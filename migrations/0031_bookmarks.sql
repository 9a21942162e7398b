-- Bookmarks: messages that a user wants to find again. A row goes by the user's word, with its thread, and with all data of
-- its user.
CREATE TABLE bookmarks (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  thread_id  TEXT    NOT NULL,
  turn_id    TEXT    NOT NULL,
  -- Whose message it is: `user` or `assistant`.
  role       TEXT    NOT NULL,
  -- The beginning of the message.
  excerpt    TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, message_id)
);

CREATE INDEX bookmarks_newest ON bookmarks (tenant, user_id, created_at, message_id);
-- For those of one thread, and for the deletion of a thread.
CREATE INDEX bookmarks_of_thread ON bookmarks (tenant, user_id, thread_id);
