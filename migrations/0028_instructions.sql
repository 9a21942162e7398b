-- Custom instructions: a row for those of a user (no project), and one for those of each project.
CREATE TABLE instructions (
  tenant     TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  -- Empty: for all conversations of the user.
  project_id TEXT    NOT NULL,
  -- At most 20,000 bytes, never empty.
  content    TEXT    NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id, project_id)
);

-- They go with their project, also where an earlier version of the service deletes it.
CREATE TRIGGER instructions_go_with_their_project AFTER DELETE ON project_items WHEN OLD.kind = 'project' BEGIN
  DELETE FROM instructions WHERE tenant = OLD.tenant AND user_id = OLD.user_id AND project_id = OLD.id;
END;
