// The form of custom instructions: it reads them when it opens, and writes them when the person saves.

import { useEffect, useId } from "react";
import { FormFoot } from "../components/FormFoot";
import { Problem } from "../components/PagedList";
import { en } from "../en";
import { useStore } from "../state/store";
import { edit, editing, read, save, type Editing } from "./editing";
import { words } from "./en";

interface Props {
  path: string;
  note: string;
}

/** The service's limit, in bytes of UTF-8 (docs/wire-protocol.md). */
const MAX_BYTES = 20_000;

export function InstructionsForm({ path, note }: Props) {
  const now = useStore(editing).byPath[path];
  useEffect(() => void read(path), [path]);
  if (now && now.saved !== null) return <Form path={path} note={note} now={now} />;
  if (now && now.problem !== null) return <Problem words={now.problem} onRetry={() => void read(path)} />;
  return (
    <p className="side-note" role="status">
      {en.common.loading}
    </p>
  );
}

function Form({ path, note, now: { saved, text, state, problem } }: Props & { now: Editing }) {
  const noteId = useId();
  const bytes = new TextEncoder().encode(text.trim()).length;
  const why = bytes > MAX_BYTES ? words.tooLong(bytes, MAX_BYTES) : problem;
  const canSave = bytes <= MAX_BYTES && text.trim() !== saved;
  return (
    <form
      className="form"
      data-testid="instructions"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSave) void save(path);
      }}
    >
      <p id={noteId} className="side-note">
        {note}
      </p>
      <Text noteId={noteId} text={text} edit={(text) => edit(path, text)} />
      <FormFoot problem={why} save={words.save} canSave={canSave} testId="instructions-save">
        <span role="status">{state === "saved" ? words.saved : ""}</span>
      </FormFoot>
    </form>
  );
}

function Text({ noteId, text, edit }: { noteId: string; text: string; edit: (text: string) => void }) {
  return (
    <textarea
      dir="auto"
      rows={6}
      aria-label={words.text}
      aria-describedby={noteId}
      placeholder={words.example}
      data-testid="instructions-text"
      value={text}
      onChange={({ target }) => edit(target.value)}
    />
  );
}
