-- The answer as readers saw it: text, reasoning and calls in order of appearance (JSON). NULL on a user's message, and on
-- answers of earlier versions. It is a column of the message's row, so it goes with the message.
ALTER TABLE messages ADD COLUMN parts TEXT;
