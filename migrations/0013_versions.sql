-- Versions of turns. A thread's conversation is one path through its turns. A message that is beside that path stays, and
-- searches do not find it.
ALTER TABLE messages ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;

-- The turn that wrote a memory, by the number of its first event in its thread. NULL: an earlier version wrote it, or more
-- than one call has told it, so it belongs to no turn.
ALTER TABLE memories ADD COLUMN turn_seq INTEGER;
-- Whether that turn is beside the path of its thread: other threads do not find the memory then. The user sees it.
ALTER TABLE memories ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;
