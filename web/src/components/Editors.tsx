// The boxes in which a person changes a text in its place: the name of a chat, and a question that was sent.

import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { en } from "../en";
import { MAX_TITLE_CHARS } from "../wire.generated";
import { enterSendsHere, sendingOf } from "./sendKey";

/** `onDone` gets null to keep the old name. */
export function Naming({ title, onDone }: { title: string; onDone: (name: string | null) => void }) {
  // Another title may come meanwhile.
  const [first] = useState(title);
  const [name, setName] = useState(first);
  const done = () => onDone(name === first ? null : name);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, []);
  return (
    <input
      ref={box}
      className="thread-name"
      data-testid="thread-name"
      dir="auto"
      aria-label={en.sidebar.name}
      maxLength={MAX_TITLE_CHARS}
      value={name}
      onChange={(event) => setName(event.target.value)}
      onBlur={done}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") done();
        if (event.key === "Escape") {
          event.stopPropagation();
          onDone(null);
        }
      }}
    />
  );
}

interface EditorProps {
  question: string;
  /** The message has no images, so its text must not be blank. */
  alone: boolean;
  onSave: (question: string) => void;
  onCancel: () => void;
}

export function QuestionEditor({ question, alone, onSave, onCancel }: EditorProps) {
  const [text, setText] = useState(question);
  const box = useRef<HTMLTextAreaElement>(null);
  const usable = !alone || text.trim() !== "";

  useLayoutEffect(() => {
    const field = box.current;
    field?.focus();
    field?.setSelectionRange(field.value.length, field.value.length);
  }, []);
  useLayoutEffect(() => {
    const field = box.current;
    if (!field) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);

  return (
    <form
      className="question-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (usable) onSave(text);
      }}
    >
      <textarea
        ref={box}
        data-testid="edit-box"
        dir="auto"
        aria-label={en.answer.edit}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            onCancel();
          }
          if (sendingOf(event.nativeEvent, enterSendsHere()) === null) return;
          event.preventDefault();
          if (usable) onSave(text);
        }}
      />
      <div className="question-editor-foot">
        <span>{en.answer.editNote}</span>
        <button type="button" className="quiet-button" onClick={onCancel}>
          {en.common.cancel}
        </button>
        <button type="submit" className="primary-button small" data-testid="edit-send" disabled={!usable}>
          {en.common.send}
        </button>
      </div>
    </form>
  );
}
