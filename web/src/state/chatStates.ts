// The states of the chats in the list: an answer is written, waits for the person, or is there and was not read yet. The list of
// the service has a state some seconds late, so the tabs tell each other at once. Only this browser knows which answers were read.

import type { ThreadState, ThreadSummary } from "../wire";
import { keep, kept } from "./kept";
import { Store } from "./store";

export type ChatState = ThreadState | "unread";

interface Told {
  state: ThreadState;
  /** When a tab of this browser told it, and the chat's last change then (milliseconds since 1970). */
  at: number;
  changed: number;
}

interface Known {
  told: Readonly<Record<string, Told>>;
  /** The last change of a chat that the person has seen. */
  seen: Readonly<Record<string, number>>;
  /** All changes up to then count as seen. 0: this browser has not had a list yet. */
  since: number;
}

const KEY = "espalier.seen";
/** The browser keeps what was seen of this many chats, the latest ones. */
const MAX_SEEN = 200;
/** The list has heard of a turn that began so long ago. */
const HEARD_MS = 60_000;

export const chatStates = new Store<Known>({ told: {}, seen: {}, since: 0 });

export function loadChatStates(): void {
  try {
    const { seen, since } = JSON.parse(kept(KEY) ?? "{}") as Partial<Known>;
    chatStates.set({ seen: seen ?? {}, since: since ?? 0 });
  } catch {
    // A damaged value: nothing was seen yet.
  }
}

export function stateOf({ id, state, updated_at }: ThreadSummary, { told, seen, since }: Known, current: boolean): ChatState | null {
  const now = told[id]?.state ?? state;
  if (now) return now;
  return !current && since > 0 && updated_at > Math.max(since, seen[id] ?? 0) ? "unread" : null;
}

/** A tab of this browser follows the chat's turn. Null: the turn is over. */
export function tellState(id: string, state: ThreadState | null, changed: number): void {
  chatStates.set(({ told: { [id]: _, ...others } }) => ({ told: state === null ? others : { ...others, [id]: { state, at: Date.now(), changed } } }));
}

/** The person has seen the chat as it is. */
export function seeChat(id: string, updatedAt: number): void {
  const { seen, since } = chatStates.get();
  if (updatedAt <= Math.max(since, seen[id] ?? 0)) return;
  const { [id]: _, ...others } = seen;
  keepSeen([...Object.entries(others), [id, updatedAt]].slice(-MAX_SEEN) as [string, number][], since);
}

/** The service has told its list. `open`: the chat that this tab follows itself. True: one of the others goes on, so the list
    will change. */
export function compareStates(threads: readonly ThreadSummary[], open: string | null): boolean {
  const { since, told, seen } = chatStates.get();
  // The chats of a person who is new here are no news.
  if (since === 0) keepSeen(Object.entries(seen), Math.max(1, ...threads.map(({ updated_at }) => updated_at)));
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  // A turn that was left may have ended unseen by every tab.
  const isOver = ([id, { at, changed }]: [string, Told]) => id !== open && ((byId.get(id)?.updated_at ?? changed) > changed || Date.now() - at > HEARD_MS);
  const left = Object.entries(told).filter((each) => !isOver(each));
  if (left.length < Object.keys(told).length) chatStates.set({ told: Object.fromEntries(left) });
  const openThread = byId.get(open ?? "");
  if (openThread) seeChat(openThread.id, openThread.updated_at);
  return threads.some((thread) => thread.id !== open && (thread.state || left.some(([id]) => id === thread.id)));
}

function keepSeen(entries: [string, number][], since: number): void {
  const seen = Object.fromEntries(entries);
  chatStates.set({ seen, since });
  keep(KEY, JSON.stringify({ seen, since }));
}
