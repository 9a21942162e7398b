// Follows one turn to its `done`, over as many connections as needed. It knows no URLs, no clock and no page: its caller
// passes them in, so that tests can cut the line anywhere.

import type { TurnEvent } from "../wire";
import { Refusal, isAbort, retryAfterMs } from "./http";
import { readEvents } from "./events";

export interface Line {
  turnId: string;
  /** Starts the turn. A repeated request with the same `turn_id` finds the first turn. Null: the turn runs already. */
  start: (() => Promise<Response>) | null;
  /** The page knows all events up to this number. */
  after?: number;
  /** Reads the thread's events that follow `after`. */
  resume: (after: number) => Promise<Response>;
  onEvent: (event: TurnEvent) => void;
  onCut: () => void;
  onOpen: () => void;
  /** Resolves after about that time, or earlier when a retry makes sense. */
  pause: (ms: number) => Promise<void>;
  /** The same while the turn waits for a person: earlier when the person has answered, later while the tab is hidden. */
  await: (ms: number) => Promise<void>;
  signal: AbortSignal;
}

/**
 * `gone`: the stored messages tell how the turn ended. The service is idle and has no newer events, or it no longer
 * keeps the turn's events.
 */
export type Ending = "done" | "gone" | "aborted";

/** The wait after a stream that ended because its turn waits; the service asks for the same (`Retry-After`). */
const PARKED_MS = 30_000;

/** A request without an answer is made this often before the page reports it. */
const START_ATTEMPTS = 3;

export async function followTurn(line: Line): Promise<Ending> {
  let begun = line.start === null;
  let cursor = line.after ?? 0;
  let failures = 0;
  for (;;) {
    /** Not null: the turn waits for a person, and is asked for again after this time. */
    let waitMs: number | null = null;
    try {
      const response = begun || !line.start ? await line.resume(cursor) : await line.start();
      if (response.status === 204) {
        // Without a time the turn sends no more events.
        waitMs = retryAfterMs(response);
        if (waitMs === null) return "gone";
      }
      line.onOpen();
      for await (const event of readEvents(response, () => (waitMs = PARKED_MS))) {
        if (event.seq <= cursor) continue;
        cursor = event.seq;
        begun = true;
        failures = 0;
        if (event.turn_id !== line.turnId) continue;
        if (event.type === "session" && event.resumed === "truncated") return "gone";
        line.onEvent(event);
        if (event.type === "done") return "done";
      }
    } catch (error) {
      if (line.signal.aborted || isAbort(error)) return "aborted";
      if (error instanceof Refusal && !(begun && passes(error))) throw error;
      if (!begun && failures + 1 >= START_ATTEMPTS) throw error;
    }
    if (line.signal.aborted) return "aborted";
    if (waitMs !== null) {
      failures = 0;
      await line.await(waitMs);
      if (line.signal.aborted) return "aborted";
      continue;
    }
    failures += 1;
    line.onCut();
    await line.pause(backoff(failures));
  }
}

/** A refusal that concerns the moment and not the turn. */
export function passes(refusal: Refusal): boolean {
  return refusal.status === 429 || refusal.status >= 500;
}

/** 0.4 s, 0.8 s, … at most 15 s. */
export function backoff(failures: number): number {
  return Math.min(15_000, 200 * 2 ** Math.min(failures, 10));
}
