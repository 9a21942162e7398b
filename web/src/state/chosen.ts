// Which collections a chat looks into. Kept in localStorage by chat, so that a chat that is opened again goes on with
// them; the service is told with each message.

import type { Collection } from "../wire";
import { NEW_CHAT } from "./drafts";
import { Store } from "./store";

export type Chosen = Pick<Collection, "id" | "name">;

const KEY = "espalier.collections";
/** What the service takes with one message (docs/wire-protocol.md). */
export const MAX_CHOSEN = 8;
/** So many chats' choices are kept, the latest ones. */
const MAX_CHATS = 100;

export const chosen = new Store<{ byChat: Record<string, readonly Chosen[]> }>({ byChat: {} });

/** None without the storage. */
export function loadChosen(): void {
  try {
    chosen.set({ byChat: JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, Chosen[]> });
  } catch {
    // Forbidden or damaged: nothing is chosen.
  }
}

export function chosenFor(chat: string): readonly Chosen[] {
  return chosen.get().byChat[chat] ?? [];
}

export function choose(chat: string, collections: readonly Chosen[]): void {
  const { [chat]: _, ...others } = chosen.get().byChat;
  keep([...Object.entries(others), [chat, collections]]);
}

/** A chat that begins takes the choice along; it stays at the next new one until the first has really begun. */
export function takeAlong(threadId: string): void {
  const taken = chosenFor(NEW_CHAT);
  if (taken.length > 0) choose(threadId, taken);
}

/** The service knows this one of a chat's collections no more (`collections[1]`): the next message goes without it. */
export function refuse(chat: string, member: string | null): void {
  const at = /^collections\[(\d+)\]$/.exec(member ?? "")?.[1];
  const gone = at === undefined ? undefined : chosenFor(chat)[Number(at)];
  if (gone) unchoose(gone.id);
}

/** A collection is not there any more. */
export function unchoose(id: string): void {
  keep(Object.entries(chosen.get().byChat).map(([chat, list]) => [chat, list.filter((each) => each.id !== id)]));
}

function keep(entries: [string, readonly Chosen[]][]): void {
  const byChat = Object.fromEntries(entries.filter(([, list]) => list.length > 0).slice(-MAX_CHATS));
  chosen.set({ byChat });
  try {
    localStorage.setItem(KEY, JSON.stringify(byChat));
  } catch {
    // Storage is full or forbidden: the choice holds as long as the page.
  }
}
