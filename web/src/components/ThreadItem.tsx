import { useEffect, useRef, useState, type MouseEvent } from "react";
import { addressOf } from "../state/route";
import type { Thread } from "../wire";
import { TrashIcon } from "./Icons";

interface Props {
  thread: Thread;
  current: boolean;
  onOpen: () => void;
  onDelete: () => Promise<void>;
}

export function ThreadItem({ thread, current, onOpen, onDelete }: Props) {
  const [asking, setAsking] = useState(false);
  const title = thread.title.trim() || "Untitled chat";

  const open = (event: MouseEvent) => {
    // A real link: a click with a modifier opens another tab, as everywhere.
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    onOpen();
  };

  return (
    <li className="thread-item" data-testid="thread-item" data-thread-id={thread.id} data-current={current}>
      {asking ? (
        <Confirm title={title} onCancel={() => setAsking(false)} onDelete={onDelete} />
      ) : (
        <>
          <a href={addressOf(thread.id)} aria-current={current ? "page" : undefined} onClick={open} title={title}>
            {title}
          </a>
          <button
            type="button"
            className="icon-button small"
            data-testid="thread-delete"
            title="Delete"
            onClick={() => setAsking(true)}
          >
            <TrashIcon />
            <span className="visually-hidden">Delete “{title}”</span>
          </button>
        </>
      )}
    </li>
  );
}

interface ConfirmProps {
  title: string;
  onCancel: () => void;
  onDelete: () => Promise<void>;
}

function Confirm({ title, onCancel, onDelete }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  // The safe answer has the focus: a second Enter by habit deletes nothing.
  useEffect(() => keep.current?.focus(), []);
  return (
    <div
      className="confirm"
      role="group"
      aria-label={`Delete “${title}”?`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onCancel();
      }}
    >
      <span>Delete it?</span>
      <button
        type="button"
        className="link-button danger"
        data-testid="thread-delete-confirm"
        disabled={busy}
        onClick={() => {
          setBusy(true);
          void onDelete().finally(() => setBusy(false));
        }}
      >
        Delete
      </button>
      <button type="button" className="link-button" ref={keep} onClick={onCancel}>
        Keep
      </button>
    </div>
  );
}
