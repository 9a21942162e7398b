// What the person said; the last one can be said otherwise.

import { useLayoutEffect, useRef, useState } from "react";
import { parseQuestion } from "../turn/attachments";
import { CopyButton } from "./CopyButton";
import { FileIcon, PencilIcon } from "./Icons";

interface Props {
  question: string;
  /** Sends the message anew, in place of this one; null where that makes no sense. */
  onEdit: ((question: string) => void) | null;
  editing: boolean;
  setEditing: (editing: boolean) => void;
}

export function Question({ question, onEdit, editing, setEditing }: Props) {
  const { text, files } = parseQuestion(question);
  if (editing && onEdit) {
    return (
      <Editor
        question={question}
        onCancel={() => setEditing(false)}
        onSave={(changed) => {
          setEditing(false);
          onEdit(changed);
        }}
      />
    );
  }
  return (
    <div className="question-row">
      <div className="question" data-testid="message-user">
        <h2 className="visually-hidden">You</h2>
        {text}
        {files.map((file, index) => (
          <details key={index} className="attached">
            <summary>
              <FileIcon />
              {file.name}
            </summary>
            <pre tabIndex={0}>{file.text}</pre>
          </details>
        ))}
      </div>
      <div className="question-acts">
        <CopyButton text={question} what="the message" />
        {onEdit && (
          <button
            type="button"
            className="icon-button small"
            data-testid="edit"
            title="Edit the message"
            onClick={() => setEditing(true)}
          >
            <PencilIcon />
            <span className="visually-hidden">Edit the message</span>
          </button>
        )}
      </div>
    </div>
  );
}

interface EditorProps {
  question: string;
  onSave: (question: string) => void;
  onCancel: () => void;
}

function Editor({ question, onSave, onCancel }: EditorProps) {
  const [text, setText] = useState(question);
  const box = useRef<HTMLTextAreaElement>(null);
  const usable = text.trim() !== "";

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
        aria-label="Edit the message"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            onCancel();
          }
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (usable) onSave(text);
        }}
      />
      <div className="question-editor-foot">
        <span>The answer is made anew.</span>
        <button type="button" className="quiet-button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="primary-button small" data-testid="edit-send" disabled={!usable}>
          Send
        </button>
      </div>
    </form>
  );
}
