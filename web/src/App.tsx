import { useEffect, useState } from "react";
import { Announcer } from "./components/Announcer";
import { Banner } from "./components/Banner";
import { Composer } from "./components/Composer";
import { COMPOSER_ID, focusNext } from "./components/focus";
import { PanelsProvider, SidePanel, usePanels } from "./components/Panels";
import { Sidebar } from "./components/Sidebar";
import { StatusChip } from "./components/StatusChip";
import { Toast } from "./components/Toast";
import { TopBar } from "./components/TopBar";
import { Transcript } from "./components/Transcript";
import { Unavailable } from "./components/Unavailable";
import { useDrawer, useKeys } from "./components/useKeys";
import { en } from "./en";
import { features } from "./feature";
import type { TurnClock } from "./state/clock";
import type { ConversationState } from "./state/conversation";
import { NEW_CHAT } from "./state/drafts";
import { useOnline } from "./state/online";
import { conversation, dismissNotice, fetchPart, goTo, page, startPage, threads } from "./state/page";
import { erasureScreen, queueView, settingsDialog, signIn } from "./state/parts";
import { useStore } from "./state/store";
import { IDLE, OFFLINE, statusOf, type Status } from "./turn/status";
import { titleOf } from "./turn/title";
import type { TurnView } from "./turn/view";
import { mayAskAgain, waitingIn } from "./turn/waiting";

/** Another user begins with nothing on screen: no panel, no dialog, no draft of the last one stays open. */
export function App() {
  return <Visit key={useStore(page).user} />;
}

function Visit() {
  const { phase, session, problem } = useStore(page);
  const [menuOpen, setMenuOpen] = useDrawer();
  const [settingsOpen, setSettingsOpen] = useState(false);
  const panels = usePanels(() => setMenuOpen(false));
  useKeys(setMenuOpen);
  useEffect(() => {
    // theme.js hid the first screen where the address names a chat. The page has replaced it by now.
    delete document.documentElement.dataset["opening"];
  }, []);

  const SignIn = signIn.use(phase === "signedOut");
  const Erasure = erasureScreen.use(phase === "erasing");

  if (phase === "failed") {
    return (
      <Unavailable title={en.page.unavailable} problem={problem} onAction={() => void startPage()}>
        {problem?.words}
      </Unavailable>
    );
  }
  if (phase === "erasing") return Erasure && <Erasure />;
  if (phase === "signedOut") return SignIn && <SignIn ended={session !== null} />;
  return (
    <PanelsProvider value={panels}>
      <Page menuOpen={menuOpen} setMenuOpen={setMenuOpen} settingsOpen={settingsOpen} setSettingsOpen={setSettingsOpen} />
    </PanelsProvider>
  );
}

interface PageProps {
  menuOpen: boolean;
  setMenuOpen: (open: boolean) => void;
  settingsOpen: boolean;
  setSettingsOpen: (open: boolean) => void;
}

function Page({ menuOpen, setMenuOpen, settingsOpen, setSettingsOpen }: PageProps) {
  const state = useStore(conversation.store);
  const online = useOnline();
  const title = useTitle(state);
  const Settings = settingsDialog.use(settingsOpen);
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
      />
      {menuOpen && <div className="scrim" onClick={() => setMenuOpen(false)} />}
      <main className="main" inert={menuOpen}>
        <TopBar
          title={title}
          turn={currentTurn(state)}
          menuOpen={menuOpen}
          onMenu={() => setMenuOpen(!menuOpen)}
        />
        {state.phase === "missing" || state.phase === "failed" ? (
          <NotShown state={state} />
        ) : (
          <Chat state={state} status={currentStatus(state, online)} />
        )}
      </main>
      <SidePanel chat={state.threadId ?? NEW_CHAT} threadId={threadInService(state)} />
      <Toast />
      {settingsOpen && Settings && <Settings onClose={() => setSettingsOpen(false)} />}
    </div>
  );
}

function Chat({ state, status }: { state: ConversationState; status: Status }) {
  const { demo, notice } = useStore(page);
  const { editing, edit, editFromComposer } = useEditing();
  const last = state.exchanges.at(-1);
  const editable = last && mayAskAgain(last, state);
  return (
    <>
      <Transcript state={state} demo={demo} editing={editing} setEditing={edit} />
      <Announcer key={state.threadId} {...state} />
      <div className="dock">
        <StatusChip status={status} turn={currentTurn(state)} />
        {notice && (
          <Banner tone="notice" onDismiss={dismissNotice}>
            {notice}
          </Banner>
        )}
        {state.problem && (
          <Banner tone="error" problem={state.problem} onDismiss={() => conversation.dismissProblem()}>
            {state.problem.words}
          </Banner>
        )}
        {features().map(({ name, Dock }) => Dock && <Dock key={name} state={state} />)}
        <WaitingMessages />
        <Composer state={state} onEditLast={editable ? () => editFromComposer(last.turnId) : null} />
      </div>
    </>
  );
}

/** The messages that wait for their turn. The code that draws them comes with the first of them. */
function WaitingMessages() {
  const queue = useStore(conversation.queue.store);
  const QueueView = queueView.use(queue.messages.length > 0);
  return QueueView && queue.messages.length > 0 ? <QueueView queue={queue} /> : null;
}

/** The question that is edited. After that the focus goes back to where the editing began. */
function useEditing() {
  const [editing, setEditing] = useState<string | null>(null);
  const [typing, setTyping] = useState(false);
  const edit = (turnId: string | null) => {
    setEditing(turnId);
    if (turnId !== null) return setTyping(false);
    if (typing) focusNext(() => document.getElementById(COMPOSER_ID));
    else focusNext(() => document.querySelector<HTMLElement>(`[data-turn-id="${editing}"] [data-testid=edit]`));
  };
  const editFromComposer = (turnId: string) => {
    setEditing(turnId);
    setTyping(true);
  };
  return { editing, edit, editFromComposer };
}

/** The open chat's id; null until the service knows the chat. */
function threadInService({ threadId, phase, running }: ConversationState): string | null {
  return phase === "ready" && (running?.begun ?? true) ? threadId : null;
}

function NotShown({ state }: { state: ConversationState }) {
  return state.phase === "missing" ? (
    <Unavailable title={en.page.chatMissing} action={en.page.startNewChat} onAction={() => goTo(null)}>
      {en.page.chatMissingWhy}
    </Unavailable>
  ) : (
    <Unavailable title={en.page.chatFailed} problem={state.problem} onAction={() => void conversation.reload()}>
      {state.problem?.words}
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
  return (state.running === null && waitingIn(state.exchanges)?.status) || IDLE;
}

/** The chat's title in the list. Until the list has it, the first words of the chat stand for it. */
function useTitle({ threadId, exchanges }: ConversationState): string {
  const list = useStore(threads.store).threads;
  const listed = list.find((thread) => thread.id === threadId)?.title.trim();
  const title = listed || titleOf(exchanges[0]?.question ?? "");
  useEffect(() => {
    document.title = title ? en.page.titled(title) : en.common.product;
  }, [title]);
  return title || (threadId === null ? en.page.newChat : en.page.chat);
}
