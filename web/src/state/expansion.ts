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

/** The turns whose work a person has unfolded or folded. A reload keeps them. */
const KEY = "espalier.unfolded";
const MAX_TURNS = 100;
const unfolded = new Store<{ byTurn: Record<string, boolean> }>({ byTurn: {} });
let isLoaded = false;

function load(): void {
  isLoaded = true;
  try {
    unfolded.set({ byTurn: JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Record<string, boolean> });
  } catch {
    // As if nothing were kept.
  }
}

/** `initially`: where the person has not chosen. */
export function useUnfolded(turnId: string, initially: boolean) {
  if (!isLoaded) load();
  const open = useSyncExternalStore(unfolded.subscribe, () => unfolded.get().byTurn[turnId] ?? initially, () => initially);
  const setOpen = (value: boolean) => {
    const { [turnId]: _, ...others } = unfolded.get().byTurn;
    const byTurn = Object.fromEntries([...Object.entries(others), [turnId, value]].slice(-MAX_TURNS));
    unfolded.set({ byTurn });
    try {
      sessionStorage.setItem(KEY, JSON.stringify(byTurn));
    } catch {
      // Storage is full or forbidden: the choice lasts as long as the page.
    }
  };
  return [open, setOpen] as const;
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
