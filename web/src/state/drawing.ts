// Draws the events of a turn together, at a pace that eyes can follow.

import { reduceTurn } from "../turn/reduce";
import type { TurnEvent } from "../wire";
import type { ConversationState } from "./conversation";
import type { Store } from "./store";

/** Chunks come faster than a person reads: the page draws about 30 times a second. */
const DRAW_EVERY_MS = 33;

/** Collects a turn's events and applies them together. After the abort it draws nothing. */
export function drawing(store: Store<ConversationState>, turnId: string, signal: AbortSignal) {
  let waiting: TurnEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const draw = () => {
    timer = null;
    const events = waiting;
    waiting = [];
    if (signal.aborted || events.length === 0) return;
    store.set((state) => ({
      exchanges: state.exchanges.map((exchange) =>
        exchange.turnId === turnId && exchange.answer
          ? { ...exchange, answer: events.reduce(reduceTurn, exchange.answer) }
          : exchange,
      ),
    }));
  };
  return {
    add: (event: TurnEvent) => {
      waiting.push(event);
      timer ??= setTimeout(draw, DRAW_EVERY_MS);
    },
    finish: () => {
      if (timer !== null) clearTimeout(timer);
      draw();
    },
  };
}
