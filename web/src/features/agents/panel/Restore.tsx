// Restores an agent from its file. Where its name is taken, the person gives the copy another one.

import { useState } from "react";
import { DropZone } from "../../../components/DropZone";
import { en } from "../../../en";
import { useStore } from "../../../state/store";
import { AGENT_NAME } from "../../../wire.generated";
import type { Dump } from "../api";
import { agents } from "./agents";
import { words } from "./en";

const JSON_FILES = ".json,application/json";

export function Restore() {
  const { dump, refused } = useStore(agents.desk);
  return (
    <div className="agent-restore">
      <DropZone
        label={words.restore}
        hint={words.restoreHint}
        accept={JSON_FILES}
        testId="agent-restore"
        onFiles={([file]) => file && void agents.take(file)}
      />
      {refused !== null && (
        <p className="side-problem" role="alert">
          {refused}
        </p>
      )}
      {dump !== null && refused !== null && <Rename dump={dump} />}
    </div>
  );
}

function Rename({ dump }: { dump: Dump }) {
  const [name, setName] = useState(() => agents.freeName(dump.name));
  const [busy, setBusy] = useState(false);
  return (
    <form
      className="form agent-form"
      onSubmit={async (event) => {
        event.preventDefault();
        if (busy || !AGENT_NAME.pattern.test(name)) return;
        setBusy(true);
        await agents.restore(name);
        setBusy(false);
      }}
    >
      <label>
        {words.newName}
        <input data-testid="agent-name" autoFocus required maxLength={AGENT_NAME.max} value={name} aria-describedby="agent-name-rule" onChange={(event) => setName(event.target.value)} />
      </label>
      <p id="agent-name-rule" className="side-note">{words.nameRule}</p>
      <div className="agent-acts">
        <button type="submit" className="primary-button small" data-testid="agent-restore-now" disabled={busy || !AGENT_NAME.pattern.test(name)}>
          {words.restoreNow}
        </button>
        <button type="button" className="quiet-button" onClick={() => agents.dropDump()}>
          {en.common.cancel}
        </button>
      </div>
    </form>
  );
}
