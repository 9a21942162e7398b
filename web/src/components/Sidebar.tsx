import { useEffect, useRef } from "react";
import { en } from "../en";
import { byDay } from "../state/days";
import { openFind } from "../state/finding";
import { goTo, page, removeThread, signOut, threads } from "../state/page";
import { part } from "../state/parts";
import { addressOf } from "../state/route";
import { useStore } from "../state/store";
import type { Session } from "../wire";
import { COMPOSER_ID } from "./focus";
import { CloseIcon, GearIcon, PlusIcon, SearchIcon } from "./Icons";
import { Logo } from "./Logo";
import { SidebarButtons } from "./Panels";
import { NEW_CHAT_ID, ThreadItem } from "./ThreadItem";

/** Few deployments have providers. */
const providerButtons = part(() => import("./ProviderButtons").then((module) => module.ProviderButtons));

interface Props {
  currentId: string | null;
  open: boolean;
  onClose: () => void;
  onSettings: () => void;
}

/** The id of the search box, for the key that leads to it. */
export const SEARCH_ID = "thread-search";

export function Sidebar({ currentId, open, onClose, onSettings }: Props) {
  const { session } = useStore(page);
  const go = (id: string | null) => {
    goTo(id);
    onClose();
  };
  return (
    <nav className="sidebar" id="sidebar" data-open={open} aria-label={en.sidebar.label}>
      <Head open={open} onHome={() => go(null)} onClose={onClose} />
      <button id={NEW_CHAT_ID} type="button" className="new-chat" data-testid="new-chat" onClick={() => go(null)}>
        <PlusIcon />
        {en.page.newChat}
      </button>
      <Search open={open} />
      <Chats currentId={currentId} onOpen={go} />
      <SidebarButtons />
      <button type="button" className="sidebar-foot" data-testid="settings" onClick={onSettings}>
        <GearIcon />
        {en.settings.title}
      </button>
      <SignedIn session={session} />
    </nav>
  );
}

function Head({ open, onHome, onClose }: { open: boolean; onHome: () => void; onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) close.current?.focus();
  }, [open]);
  return (
    <div className="sidebar-head">
      <a
        className="brand"
        href={addressOf(null)}
        onClick={(event) => {
          event.preventDefault();
          onHome();
        }}
      >
        <Logo className="logo" />
        {en.common.product}
      </a>
      <button ref={close} type="button" className="icon-button sidebar-close" onClick={onClose} title={en.common.close}>
        <CloseIcon />
        <span className="visually-hidden">{en.sidebar.close}</span>
      </button>
    </div>
  );
}

function Search({ open }: { open: boolean }) {
  const { wanted } = useStore(threads.store);
  return (
    <div className="search">
      <SearchIcon />
      <input
        id={SEARCH_ID}
        type="search"
        data-testid="search"
        dir="auto"
        aria-label={en.sidebar.search}
        placeholder={en.sidebar.searchHint}
        autoComplete="off"
        maxLength={200}
        value={wanted}
        onChange={(event) => threads.look(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
          // In a narrow window the box stands in the drawer, which the same key closes.
          if (wanted === "" && open) return;
          event.preventDefault();
          event.stopPropagation();
          if (wanted === "") document.getElementById(COMPOSER_ID)?.focus();
          else threads.look("");
        }}
      />
    </div>
  );
}

function Chats({ currentId, onOpen }: { currentId: string | null; onOpen: (id: string) => void }) {
  const { phase, threads: all, found, wanted, nextCursor, problem } = useStore(threads.store);
  const searching = wanted.trim() !== "";
  const list = searching ? (found ?? []) : all;
  return (
    <>
      <div className="thread-list" data-testid="thread-list">
        {(searching ? [{ label: en.sidebar.found, threads: list }] : byDay(list, Date.now())).map(({ label, threads }) => (
          <section key={label} aria-label={label}>
            {!searching && <p className="thread-day">{label}</p>}
            <ul>
              {threads.map((thread) => (
                <ThreadItem
                  key={thread.id}
                  thread={thread}
                  current={thread.id === currentId}
                  onOpen={() => {
                    onOpen(thread.id);
                    // A result leads to the message that has the words.
                    if (searching && thread.snippet) openFind(wanted.trim());
                  }}
                  onDelete={() => removeThread(thread.id)}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
      <p className="sidebar-note" role="status">
        {searching && found?.length === 0 && en.sidebar.noneFound}
        {!searching && phase === "ready" && list.length === 0 && en.sidebar.empty}
      </p>
      {!searching && nextCursor !== null && (
        <button type="button" className="link-button sidebar-more" onClick={() => void threads.loadMore()}>
          {en.sidebar.older}
        </button>
      )}
      {problem && (
        <p className="sidebar-note" role="alert">
          {problem}{" "}
          <button type="button" className="link-button" onClick={() => void threads.load()}>
            {en.common.tryAgain}
          </button>
        </p>
      )}
    </>
  );
}

/** The name of the user: that of their API key or of their identity provider, with which they can sign out, or one from the
    proxy in front of the service. A visitor has no name, but may get one. */
function SignedIn({ session }: { session: Session | null }) {
  const ways = session?.sign_in ?? [];
  const ProviderButtons = providerButtons.use(ways.length > 0);
  if (!session) return null;
  const { key, provider, user_id } = session;
  if (ways.length > 0) {
    return <div className="signed-in">{ProviderButtons && <ProviderButtons ways={ways} className="link-button" problem={null} />}</div>;
  }
  // A visitor's id is a bare UUID. Other ids begin with their issuer.
  const who = key?.name ?? provider ?? (user_id.includes(":") ? user_id : null);
  if (who === null) return null;
  return (
    <p className="signed-in" data-testid="signed-in">
      <span title={key ? en.signIn.keyTitle(key.name, key.prefix) : provider && user_id}>
        <span className="visually-hidden">{en.signIn.signedIn}</span>
        <bdi>{who}</bdi>
      </span>
      {(key ?? provider) && (
        <button type="button" className="link-button" data-testid="sign-out" onClick={() => void signOut()}>
          {en.signIn.signOut}
        </button>
      )}
    </p>
  );
}
