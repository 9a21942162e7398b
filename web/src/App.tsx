import { useEffect, useState } from "react";
import { Announcer } from "./components/Announcer";
import { Banner } from "./components/Banner";
import { Composer, COMPOSER_ID } from "./components/Composer";
import { SEARCH_ID, Sidebar } from "./components/Sidebar";
import { SignIn } from "./components/SignIn";
import { Toast } from "./components/Toast";
import { TopBar } from "./components/TopBar";
import { Transcript } from "./components/Transcript";
import { Unavailable } from "./components/Unavailable";
import type { ConversationState, TurnClock } from "./state/conversation";
import { NEW_CHAT } from "./state/drafts";
import { useOnline } from "./state/online";
import { conversation, dismissNotice, fetchPart, goTo, page, startPage, threads } from "./state/page";
import { collectionsPanel, filesPanel, projectsPanel, settingsDialog } from "./state/parts";
import { useStore } from "./state/store";
import { waitingPlan } from "./turn/plan";
import { DRAFT_WAITS, IDLE, OFFLINE, statusOf, type Status } from "./turn/status";
import { isAsked } from "./turn/stored";
import type { TurnView } from "./turn/view";

/** What opens beside the chat. */
const SIDES = { files: filesPanel, collections: collectionsPanel, projects: projectsPanel };

export function App() {
  const { phase, session, demo, problem, notice } = useStore(page);
  const state = useStore(conversation.store);
  const online = useOnline();
  const title = useTitle(state);
  const [menuOpen, setMenuOpen] = useDrawer();
  const [settingsOpen, setSettingsOpen] = useState(false);
  const Settings = settingsDialog.use(settingsOpen);
  const [side, setSide] = useState<keyof typeof SIDES | null>(null);
  const showSide = (which: keyof typeof SIDES) => {
    setMenuOpen(false);
    setSide(which);
    fetchPart(SIDES[which], () => setSide(null));
  };
  const FilesPanel = filesPanel.use(side === "files");
  const CollectionsPanel = collectionsPanel.use(side === "collections");
  const ProjectsPanel = projectsPanel.use(side === "projects");
  const [editing, setEditing] = useState<string | null>(null);
  useKeys(setMenuOpen);
  useEffect(() => {
    // What hid the first screen of a chat's address has done so (theme.js).
    delete document.documentElement.dataset["opening"];
  }, []);

  if (phase === "failed") {
    return (
      <Unavailable title="Espalier is not available" action="Try again" onAction={() => void startPage()}>
        {problem}
      </Unavailable>
    );
  }

  if (phase === "signedOut") return <SignIn ended={session !== null} />;

  const last = state.exchanges.at(-1);
  const editable = last && isAsked(last) && state.running === null;
  return (
    <div className="app">
      <Sidebar
        currentId={state.threadId}
        open={menuOpen}
        onClose={() => setMenuOpen(false)}
        onSettings={() => {
          setSettingsOpen(true);
          fetchPart(settingsDialog, () => setSettingsOpen(false));
        }}
        onCollections={() => showSide("collections")}
        onProjects={() => showSide("projects")}
      />
      {menuOpen && <div className="scrim" onClick={() => setMenuOpen(false)} />}
      <main className="main" inert={menuOpen}>
        <TopBar
          title={title}
          status={currentStatus(state, online)}
          turn={currentTurn(state)}
          menuOpen={menuOpen}
          onMenu={() => setMenuOpen(!menuOpen)}
          filesOpen={side === "files"}
          onFiles={() => (side === "files" ? setSide(null) : showSide("files"))}
        />
        {state.phase === "missing" || state.phase === "failed" ? (
          <NotShown state={state} />
        ) : (
          <>
            <Transcript state={state} demo={demo} editing={editing} setEditing={setEditing} />
            <Announcer {...state} />
            <div className="dock">
              {notice && (
                <Banner tone="notice" onDismiss={dismissNotice}>
                  {notice}
                </Banner>
              )}
              {state.problem && (
                <Banner tone="error" onDismiss={() => conversation.dismissProblem()}>
                  {state.problem}
                </Banner>
              )}
              <Composer
                state={state}
                onCollections={() => showSide("collections")}
                onEditLast={editable ? () => setEditing(last.turnId) : null}
              />
            </div>
          </>
        )}
      </main>
      {side === "files" && FilesPanel && <FilesPanel threadId={threadThatIs(state)} onClose={() => setSide(null)} />}
      {side === "collections" && CollectionsPanel && (
        <CollectionsPanel chat={state.threadId ?? NEW_CHAT} onClose={() => setSide(null)} />
      )}
      {side === "projects" && ProjectsPanel && (
        <ProjectsPanel chat={state.threadId ?? NEW_CHAT} onClose={() => setSide(null)} />
      )}
      <Toast />
      {settingsOpen && Settings && <Settings onClose={() => setSettingsOpen(false)} />}
    </div>
  );
}

/** The sidebar as a drawer: Escape closes it, and so does a window that has room for both. */
function useDrawer() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const close = () => setOpen(false);
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") close();
    };
    const wide = window.matchMedia("(min-width: 52rem)");
    window.addEventListener("keydown", onKey);
    wide.addEventListener("change", close);
    return () => {
      window.removeEventListener("keydown", onKey);
      wide.removeEventListener("change", close);
    };
  }, []);
  return [open, setOpen] as const;
}

/** Keys that lead somewhere, wherever one is; those in the settings are these. */
function useKeys(setMenuOpen: (open: boolean) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing || document.querySelector("dialog:modal")) return;
      const command = event.ctrlKey || event.metaKey;
      const writing = (event.target as Element).closest("input, textarea") !== null;
      if (command && event.key.toLowerCase() === "k") {
        event.preventDefault();
        if (!window.matchMedia("(min-width: 52rem)").matches) setMenuOpen(true);
        // On a narrow window the box can take the focus only when the drawer is there.
        requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
      } else if (command && event.shiftKey && event.key.toLowerCase() === "o") {
        event.preventDefault();
        goTo(null);
      } else if (event.key === "/" && !command && !writing) {
        event.preventDefault();
        document.getElementById(COMPOSER_ID)?.focus();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [setMenuOpen]);
}

/** The chat's id, once the service knows it. */
function threadThatIs({ threadId, phase, running }: ConversationState): string | null {
  return phase === "ready" && (running?.begun ?? true) ? threadId : null;
}

function NotShown({ state }: { state: ConversationState }) {
  return state.phase === "missing" ? (
    <Unavailable title="This chat is not here" action="Start a new chat" onAction={() => goTo(null)}>
      It was deleted, or it belongs to another session.
    </Unavailable>
  ) : (
    <Unavailable title="This chat could not be loaded" action="Try again" onAction={() => void conversation.reload()}>
      {state.problem}
    </Unavailable>
  );
}

function currentTurn({ running, exchanges }: ConversationState): { view: TurnView; clock: TurnClock } | null {
  const view = exchanges.find(({ turnId }) => turnId === running?.turnId)?.answer;
  return running && view && view.finishReason === null ? { view, clock: running.clock } : null;
}

function currentStatus(state: ConversationState, online: boolean): Status {
  const turn = currentTurn(state);
  if (!online) return OFFLINE;
  if (state.running && turn) return statusOf(turn.view, state.running.connection, state.running.stopping);
  return state.running === null && waitingPlan(state.exchanges) ? DRAFT_WAITS : IDLE;
}

/** The list knows titles; until it knows this one, the first words stand for it. */
function useTitle({ threadId, exchanges }: ConversationState): string {
  const list = useStore(threads.store).threads;
  const listed = list.find((thread) => thread.id === threadId)?.title.trim();
  const title = listed || exchanges[0]?.question.trim().split("\n", 1)[0]?.slice(0, 80);
  useEffect(() => {
    document.title = title ? `${title} · Espalier` : "Espalier";
  }, [title]);
  return title || (threadId === null ? "New chat" : "Chat");
}
