import { useEffect, useRef } from "react";
import { goTo, removeThread, threads } from "../state/page";
import { addressOf } from "../state/route";
import { useStore } from "../state/store";
import { CloseIcon, PlusIcon } from "./Icons";
import { Logo } from "./Logo";
import { ThreadItem } from "./ThreadItem";

interface Props {
  currentId: string | null;
  open: boolean;
  onClose: () => void;
}

export function Sidebar({ currentId, open, onClose }: Props) {
  const { phase, threads: list, nextCursor, problem } = useStore(threads.store);
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) close.current?.focus();
  }, [open]);
  const go = (id: string | null) => {
    goTo(id);
    onClose();
  };
  return (
    <nav className="sidebar" id="sidebar" data-open={open} aria-label="Chats">
      <div className="sidebar-head">
        <a
          className="brand"
          href={addressOf(null)}
          onClick={(event) => {
            event.preventDefault();
            go(null);
          }}
        >
          <Logo className="logo" />
          Espalier
        </a>
        <button ref={close} type="button" className="icon-button sidebar-close" onClick={onClose} title="Close">
          <CloseIcon />
          <span className="visually-hidden">Close the list of chats</span>
        </button>
      </div>
      <button type="button" className="new-chat" data-testid="new-chat" onClick={() => go(null)}>
        <PlusIcon />
        New chat
      </button>
      <ul className="thread-list" data-testid="thread-list">
        {list.map((thread) => (
          <ThreadItem
            key={thread.id}
            thread={thread}
            current={thread.id === currentId}
            onOpen={() => go(thread.id)}
            onDelete={() => removeThread(thread.id)}
          />
        ))}
      </ul>
      {phase === "ready" && list.length === 0 && <p className="sidebar-note">Your chats will be listed here.</p>}
      {nextCursor !== null && (
        <button type="button" className="link-button sidebar-more" onClick={() => void threads.loadMore()}>
          Show older chats
        </button>
      )}
      {problem && (
        <p className="sidebar-note" role="alert">
          {problem}{" "}
          <button type="button" className="link-button" onClick={() => void threads.load()}>
            Load again
          </button>
        </p>
      )}
    </nav>
  );
}
