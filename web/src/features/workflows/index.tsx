// Workflows: procedures whose steps a chat cannot skip. It gives the page a panel in which a person writes and starts them,
// the session of the open chat as a checklist above the composer, the cards of its calls, and the question whether a step
// passes. All of it is drawn by chunks: the first screen has no session.

import { line } from "../../components/Icons";
import type { Feature, Turns } from "../../feature";
import type { ConversationState } from "../../state/onScreen";
import { part } from "../../state/parts";
import { useStore } from "../../state/store";
import { callsIn } from "../../turn/view";
import { choice, requestPart } from "./choice";
import { words } from "./en";
import { CALLS, newsAfter, PLANNED, REVIEW } from "./knowledge";
import { keep, kept, newest } from "./session";

const view = part(() => import("./session/view"));

function Dock({ state }: { state: ConversationState }) {
  const { threadId, session } = useStore(kept);
  const news = newest(state.exchanges);
  const isThere = news !== null || (session !== null && threadId === state.threadId);
  const drawn = view.use(isThere);
  return drawn && isThere ? <drawn.Docked state={state} news={news} /> : null;
}

function Chips({ chat }: { chat: string }) {
  const chosen = useStore(choice.store).byChat[chat];
  const drawn = view.use(!!chosen);
  return drawn && chosen ? <drawn.Chip chat={chat} chosen={chosen} /> : null;
}

function drawsCalls({ answer }: Turns[number]): boolean {
  return answer !== null && callsIn(answer).some(({ name }) => CALLS.has(name));
}

export const workflows: Feature = {
  name: "workflows",
  toolLabels: words.running,
  choice,
  request: (chat, from) => ({ ...view.now()?.without(chat), ...requestPart(chat, from) }),
  refused: (chat, { code }) => {
    if (code === "workflow_not_found") choice.clear(chat);
  },
  began: (threadId) => choice.clear(threadId),
  read: keep,
  waiting: (turns) => view.now()?.waiting(turns),
  holds: (turn, turns) => view.now()?.holds(turn, turns),
  written: (thread) => view.load().then(({ textOf }) => textOf(thread)),
  turn: { levels: [PLANNED], subtasks: [], begin: () => null, after: newsAfter, stored: () => null },
  prepare: (turns) => (kept.get().session !== null || turns.some(drawsCalls) ? view.load() : null),
  panel: {
    part: part(() => import("./WorkflowsPanel").then((module) => module.WorkflowsPanel)),
    label: words.title,
    Icon: line("M4 5.5l1.2 1.2L7.5 4.5M4 11l1.2 1.2L7.5 10M4 16h3M10.5 5.5h6M10.5 11h6M10.5 16h6"),
    place: "sidebar",
    testId: "workflows-open",
  },
  Dock,
  Chips,
  useCard: (call, outline) => {
    const isOurs = CALLS.has(call.name);
    const drawn = view.use(isOurs);
    const { session } = useStore(kept);
    return isOurs && drawn ? drawn.cardOf(call, outline, (step) => session?.steps[step - 1]?.title ?? null) : null;
  },
  useQuestion: (approval) => {
    const isOurs = approval?.name === REVIEW;
    const drawn = view.use(isOurs);
    return isOurs && drawn ? drawn.questionOf(approval) : null;
  },
};
