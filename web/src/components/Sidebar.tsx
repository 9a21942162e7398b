import { useEffect, useRef } from "react";
import { goTo, page, removeThread, signOut, threads } from "../state/page";
import { addressOf } from "../state/route";
import { useStore } from "../state/store";
import type { Session } from "../wire";
import { CloseIcon, FlagIcon, GearIcon, PlusIcon, SearchIcon, ShelfIcon } from "./Icons";
import { Logo } from "./Logo";
import { ThreadItem } from "./ThreadItem";

interface Props {
  currentId: string | null;
  open: boolean;
  onClose: () => void;
  onSettings: () => void;
  onCollections: () => void;
  onProjects: () => void;
}

/** The sidebar's search box, for a key that leads there. */
export const SEARCH_ID = "thread-search";

export function Sidebar({ currentId, open, onClose, onSettings, onCollections, onProjects }: Props) {
  const { session } = useStore(page);
  const { phase, threads: all, found, wanted, nextCursor, problem } = useStore(threads.store);
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) close.current?.focus();
  }, [open]);
  const go = (id: string | null) => {
    goTo(id);
    onClose();
  };
  const searching = wanted.trim() !== "";
  const list = searching ? (found ?? []) : all;
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
      <div className="search">
        <SearchIcon />
        <input
          id={SEARCH_ID}
          type="search"
          data-testid="search"
          aria-label="Search chats"
          placeholder="Search"
          autoComplete="off"
          maxLength={200}
          value={wanted}
          onChange={(event) => threads.look(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || wanted === "") return;
            event.stopPropagation();
            threads.look("");
          }}
        />
      </div>
      <ul className="thread-list" data-testid="thread-list" aria-label={searching ? "Chats that were found" : "Chats"}>
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
      <p className="sidebar-note" role="status">
        {searching && found?.length === 0 && "No chat says that."}
        {!searching && phase === "ready" && list.length === 0 && "Your chats will be listed here."}
      </p>
      {!searching && nextCursor !== null && (
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
      <button type="button" className="sidebar-foot" data-testid="collections-open" onClick={onCollections}>
        <ShelfIcon />
        Collections
      </button>
      <button type="button" className="sidebar-foot" data-testid="projects-open" onClick={onProjects}>
        <FlagIcon />
        Projects
      </button>
      <button type="button" className="sidebar-foot" data-testid="settings" onClick={onSettings}>
        <GearIcon />
        Settings
      </button>
      <SignedIn session={session} />
    </nav>
  );
}

/** Who is here: by a key, which can be signed out, or by the proxy in front of the service. Visitors have no name. */
function SignedIn({ session }: { session: Session | null }) {
  if (!session) return null;
  const { key, user_id } = session;
  // A visitor's id is a bare UUID, all others begin with who vouches for them.
  const who = key?.name ?? (user_id.includes(":") ? user_id : null);
  if (who === null) return null;
  return (
    <p className="signed-in" data-testid="signed-in">
      <span title={key ? `${key.name} (API key espk_${key.prefix}_…)` : undefined}>
        <span className="visually-hidden">Signed in: </span>
        {who}
      </span>
      {key && (
        <button type="button" className="link-button" data-testid="sign-out" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </p>
  );
}
