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
  const title = useTitle(state.threadId);
  const [menuOpen, setMenuOpen] = useState(false);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") setMenuOpen(false);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);

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
      <main className="main">
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

function useTitle(threadId: string | null): string {
  const list = useStore(threads.store).threads;
  const title = list.find((thread) => thread.id === threadId)?.title.trim();
  useEffect(() => {
    document.title = title ? `${title} · Espalier` : "Espalier";
  }, [title]);
  return title ?? (threadId === null ? "New chat" : "");
}
