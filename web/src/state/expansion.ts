// Which cards are open. A long chat draws only the exchanges near the window, so the cards themselves cannot know: a card
// that is drawn again must be as the reader left it.

import { useSyncExternalStore } from "react";
import { Store } from "./store";

const opened = new Store<Record<string, boolean>>({});

function keyOf(turnId: string, callId: string): string {
  return `${turnId}/${callId}`;
}

export function useOpen(turnId: string, callId: string, initially: boolean) {
  const key = keyOf(turnId, callId);
  const open = useSyncExternalStore(opened.subscribe, () => opened.get()[key] ?? initially, () => initially);
  return [open, (value: boolean) => opened.set({ [key]: value })] as const;
}

/** After this many cards the browser handles input again. */
const AT_A_TIME = 24;

let latest = 0;

/** Opens or closes many cards: the first ones at once, the others while the page stays responsive. */
export function openCards(turnId: string, callIds: readonly string[], open: boolean): void {
  latest += 1;
  const mine = latest;
  const from = (at: number) => {
    if (mine !== latest) return;
    const some = callIds.slice(at, at + AT_A_TIME);
    opened.set(Object.fromEntries(some.map((id) => [keyOf(turnId, id), open])));
    if (at + AT_A_TIME < callIds.length) setTimeout(from, 0, at + AT_A_TIME);
  };
  from(0);
}
