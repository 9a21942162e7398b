-- Why the service stopped the turn of an answer (JSON): the limit that ended it, and the work that it left. NULL on a
-- user's message, on an answer that ended by itself, and on answers of earlier versions. It goes with the message.
ALTER TABLE messages ADD COLUMN stop TEXT;
