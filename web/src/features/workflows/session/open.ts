// What the session of the open chat means for the chat: it waits for the reader's next message, and holds turns.

import type { Turns, Waiting } from "../../../feature";
import { conversation } from "../../../state/page";
import { callsIn, type TurnView } from "../../../turn/view";
import { CALLS, newsOf } from "../knowledge";
import { kept, newest } from "../session";
import { isOver, shown, type Shown } from "./checklist";
import { words } from "./en";

/** The session of the open chat that is not over, by these turns of it. */
function openIn(turns: Turns): Shown | null {
  const { threadId, session, seq } = kept.get();
  const isKnown = threadId !== null && threadId === conversation.store.get().threadId;
  const drawn = shown(isKnown ? session : null, isKnown ? seq : 0, newest(turns));
  return drawn && !isOver(drawn) ? drawn : null;
}

/** A session that a client carries out does not wait for a message. */
export function waiting(turns: Turns): Waiting | null {
  const [open, last] = [openIn(turns), turns.at(-1)];
  if (!open || open.byClient || !last) return null;
  const status = { key: "waiting", label: words.waits, words: words.waitsWords } as const;
  return { turnId: last.turnId, status, announcement: words.waitsWords };
}

/** What the messages of this chat leave out: the service refuses an agent and a mode while it carries out a session. */
export function without(chat: string): object {
  const { threadId, exchanges } = conversation.store.get();
  const open = chat === threadId ? openIn(exchanges) : null;
  // JSON leaves undefined members out.
  return open && !open.byClient ? { agent: undefined, mode_profile: undefined } : {};
}

/** The service replaces no message while a session is open. A turn that worked on a session has a part of its course. */
export function holds(turn: TurnView | null, turns: Turns): boolean {
  const worked = turn !== null && (newsOf(turn) !== null || callsIn(turn).some(({ name }) => CALLS.has(name)));
  return worked || openIn(turns) !== null;
}
