import { useEffect, useState } from "react";
import { Banner } from "./components/Banner";
import { Composer } from "./components/Composer";
import { Sidebar } from "./components/Sidebar";
import { TopBar } from "./components/TopBar";
import { Transcript } from "./components/Transcript";
import { Unavailable } from "./components/Unavailable";
import type { ConversationState } from "./state/conversation";
import { conversation, dismissNotice, goTo, page, startPage, threads } from "./state/page";
import { useStore } from "./state/store";
import { IDLE, statusOf, type Status } from "./turn/status";

export function App() {
  const { phase, demo, problem, notice } = useStore(page);
  const state = useStore(conversation.store);
  const title = useTitle(state);
  const [menuOpen, setMenuOpen] = useDrawer();

  if (phase === "failed") {
    return (
      <Unavailable title="Espalier is not available" action="Try again" onAction={() => void startPage()}>
        {problem}
      </Unavailable>
    );
  }

  return (
    <div className="app">
      <Sidebar currentId={state.threadId} open={menuOpen} onClose={() => setMenuOpen(false)} />
      {menuOpen && <div className="scrim" onClick={() => setMenuOpen(false)} />}
      <main className="main" inert={menuOpen}>
        <TopBar
          title={title}
          status={currentStatus(state)}
          menuOpen={menuOpen}
          onMenu={() => setMenuOpen(!menuOpen)}
        />
        {state.phase === "missing" || state.phase === "failed" ? (
          <NotShown state={state} />
        ) : (
          <>
            <Transcript state={state} demo={demo} />
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
              <Composer state={state} />
            </div>
          </>
        )}
      </main>
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

function currentStatus({ running, exchanges }: ConversationState): Status {
  const answer = exchanges.find(({ turnId }) => turnId === running?.turnId)?.answer;
  return running && answer ? statusOf(answer, running.connection, running.stopping) : IDLE;
}

/** The list knows titles; until it knows this one, the first words stand for it. */
function useTitle({ threadId, exchanges }: ConversationState): string {
  const list = useStore(threads.store).threads;
  const listed = list.find((thread) => thread.id === threadId)?.title.trim();
  const title = listed || exchanges[0]?.question.trim().split("\n", 1)[0]?.slice(0, 80);
  useEffect(() => {
    document.title = title ? `${title} · Espalier` : "Espalier";
  }, [title]);
  return title || (threadId === null ? "New chat" : "");
}
