// Which cards are open. Not in the cards: a long chat draws only what is near the window, and a card that comes back
// must be as it was left.

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

/** So many cards are drawn before the browser may answer the hand again. */
const AT_A_TIME = 24;

let latest = 0;

/** Opens or closes many cards: the first at once, the others as fast as the page stays responsive. */
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
