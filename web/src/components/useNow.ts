// The time, for components that count seconds. They share one timer, which stops when none of them counts.

import { useSyncExternalStore } from "react";
import type { TurnClock } from "../state/clock";

const TICK_MS = 250;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // The last tick may be long ago.
  if (timer === null) now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

const never = () => () => {};

/** Grows about four times a second while `running`. */
export function useNow(running: boolean): number {
  return useSyncExternalStore(running ? subscribe : never, () => now, () => now);
}

/** A turn's running time in milliseconds, which grows while `counting`; zero without a clock. */
export function useRunningMs(clock: TurnClock | null, counting = true): number {
  const now = useNow(counting && clock !== null && clock.waitsSince === null);
  return clock === null ? 0 : (clock.waitsSince ?? now) - clock.since;
}
