// The form of custom instructions: it reads them when it opens, and writes them when the person saves.

import { useEffect, useId, useState, type FormEvent } from "react";
import { wordsFor } from "../api/http";
import { FormFoot } from "../components/FormFoot";
import { Problem } from "../components/PagedList";
import { en } from "../en";
import { readInstructions, writeInstructions } from "./api";
import { words } from "./en";

interface Props {
  path: string;
  note: string;
}

/** The service's limit, in bytes of UTF-8 (docs/wire-protocol.md). */
const MAX_BYTES = 20_000;

export function InstructionsForm({ path, note }: Props) {
  const [stored, setStored] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const read = () => {
    setProblem(null);
    readInstructions(path).then(
      ({ content }) => setStored(content),
      (error) => setProblem(wordsFor(error)),
    );
  };
  useEffect(read, [path]);
  if (problem !== null) return <Problem words={problem} onRetry={read} />;
  if (stored !== null) return <Form path={path} note={note} stored={stored} />;
  return (
    <p className="side-note" role="status">
      {en.common.loading}
    </p>
  );
}

function Form({ path, note, stored }: Props & { stored: string }) {
  const [saved, setSaved] = useState(stored);
  const [text, setText] = useState(stored);
  const [state, setState] = useState<"edited" | "saving" | "saved">("edited");
  const [problem, setProblem] = useState<string | null>(null);
  const noteId = useId();
  const bytes = new TextEncoder().encode(text.trim()).length;
  const why = bytes > MAX_BYTES ? words.tooLong(bytes, MAX_BYTES) : problem;
  const canSave = bytes <= MAX_BYTES && text.trim() !== saved;
  const edit = (text: string) => {
    setText(text);
    setState("edited");
    setProblem(null);
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (!canSave || state === "saving") return;
    setState("saving");
    try {
      await writeInstructions(path, text);
      setSaved(text.trim());
      setState("saved");
    } catch (error) {
      setProblem(wordsFor(error));
      setState("edited");
    }
  };
  return (
    <form className="form" data-testid="instructions" onSubmit={save}>
      <p id={noteId} className="side-note">
        {note}
      </p>
      <Text noteId={noteId} text={text} edit={edit} />
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
