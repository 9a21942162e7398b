// The messages that wait for their turn, above the composer. A person can edit and remove each of them, and let a held queue
// go on.

import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { COMPOSER_ID, focusComposer, focusNext, neighbour } from "../components/focus";
import { PencilIcon, TrashIcon } from "../components/Icons";
import { en } from "../en";
import { codes } from "../errors/en";
import { restoreDraft } from "../state/drafts";
import { conversation, page } from "../state/page";
import type { MessageQueue, QueuedMessage } from "../wire";
import { words } from "./en";
import "./queue.css";

export function QueueView({ queue: { held, messages } }: { queue: MessageQueue }) {
  const [editing, setEditing] = useState<string | null>(null);
  /** The message that was edited: the focus goes back to its button. */
  const [edited, setEdited] = useState<string | null>(null);
  const close = (id: string) => {
    setEditing((now) => (now === id ? null : now));
    setEdited(id);
  };
  return (
    <section className="queue" aria-labelledby="queue-title" data-testid="queue" data-held={held}>
      <header className="queue-head">
        <h2 id="queue-title">{held ? words.held : words.title}</h2>
        {held && (
          <button
            type="button"
            className="link-button"
            data-testid="queue-resume"
            onClick={() => {
              void conversation.queue.resume();
              focusComposer();
            }}
          >
            {words.resume}
          </button>
        )}
      </header>
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-testid="queued-message" data-id={message.id}>
            {editing === message.id ? (
              <Editor message={message} onDone={() => close(message.id)} />
            ) : (
              <Waiting message={message} focused={edited === message.id} onEdit={() => setEditing(message.id)} />
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** `focused`: it was just edited, and the focus goes on at its button. */
function Waiting({ message, focused, onEdit }: { message: QueuedMessage; focused: boolean; onEdit: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (focused) button.current?.focus();
  }, []);
  const { id, content, attachments, failure } = message;
  const said = content.trim() || attachments.join(" ");
  return (
    <>
      <div className="queue-words">
        <p dir="auto">{said}</p>
        {content.trim() !== "" && attachments.length > 0 && <p className="queue-note">{attachments.join(" ")}</p>}
        {failure && (
          <p className="queue-failure" role="alert">
            {words.failed(codes[failure.code] ?? failure.message)}
          </p>
        )}
      </div>
      <button ref={button} type="button" className="icon-button small" data-testid="queued-edit" title={words.edit} onClick={onEdit}>
        <PencilIcon />
        <span className="visually-hidden">{words.editPart(said)}</span>
      </button>
      <button
        type="button"
        className="icon-button small"
        data-testid="queued-remove"
        title={en.common.remove}
        onClick={(event) => {
          const next = neighbour(event.currentTarget.closest("li"));
          void conversation.queue.remove(id).then(() => {
            if (next) focusNext(() => next.querySelector<HTMLElement>("[data-testid=queued-remove]"));
            else focusComposer();
          });
        }}
      >
        <TrashIcon />
        <span className="visually-hidden">{en.common.removePart(said)}</span>
      </button>
    </>
  );
}

/** The edit of a message. The words that are neither saved, given up nor on their way go into the draft where the editor goes
    before them: the turn of the message began, or the person opened another chat. */
function useEdit({ id, content }: QueuedMessage, onDone: () => void) {
  const unsaved = useRef<string | null>(content);
  const isOpen = useRef(true);
  const isOver = useRef(false);
  const { threadId } = conversation.store.get();
  const keep = useRef(() => {
    const typed = unsaved.current;
    // A person who has signed out leaves nothing.
    if (threadId === null || page.get().session === null || typed === null) return;
    focusNext(() => document.getElementById(COMPOSER_ID));
    if (typed.trim() && typed !== content) restoreDraft(threadId, typed, []);
  });
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
      keep.current();
    };
  }, []);
  const type = (text: string) => (unsaved.current = text);
  const cancel = () => {
    unsaved.current = null;
    isOver.current = true;
    onDone();
  };
  const save = async (text: string) => {
    unsaved.current = null;
    const taken = await conversation.queue.edit(id, text);
    // The editor stays open for words that were typed meanwhile. So does a later editor of the same message.
    if (unsaved.current !== null || isOver.current) return;
    if (taken) {
      isOver.current = true;
      if (isOpen.current) onDone();
      return;
    }
    unsaved.current = text;
    if (!isOpen.current) keep.current();
  };
  return { type, cancel, save };
}

function Editor({ message, onDone }: { message: QueuedMessage; onDone: () => void }) {
  const [text, setText] = useState(message.content);
  const box = useRef<HTMLTextAreaElement>(null);
  const { type, cancel, save: saveNow } = useEdit(message, onDone);
  useEffect(() => box.current?.focus(), []);
  const complete = text.trim() !== "" || message.attachments.length > 0;
  const save = () => complete && void saveNow(text);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") {
      // The key stops no answer here.
      event.preventDefault();
      cancel();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      save();
    }
  };
  return (
    <form
      className="queue-editor"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={box}
        rows={2}
        dir="auto"
        aria-label={words.edit}
        data-testid="queued-text"
        value={text}
        onChange={({ target }) => {
          type(target.value);
          setText(target.value);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="queue-acts">
        <button type="button" className="link-button" onClick={cancel}>
          {en.common.cancel}
        </button>
        <button type="submit" className="link-button" data-testid="queued-save" disabled={!complete}>
          {words.save}
        </button>
      </div>
    </form>
  );
}
