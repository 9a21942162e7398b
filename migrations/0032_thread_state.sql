-- What the newest turn of a thread does, where it has no end: `running`, or `waiting` for somebody outside. NULL: no turn
-- is open, or D1 has not heard of it: a turn that is over soon is told with its end. The news of the thread's object
-- write it.
ALTER TABLE threads ADD COLUMN state TEXT;
