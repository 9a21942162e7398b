// Follows one turn to its `done`, over as many connections as that takes. Knows no URLs, no clock
// and no page: what it needs of them is passed in, so that the tests can cut the line anywhere.

import type { TurnEvent } from "../wire";
import { Refusal, isAbort } from "./http";
import { readEvents } from "./events";

export interface Line {
  turnId: string;
  /** Starts the turn, or finds it: the same `turn_id` never starts a second one. Null: it runs. */
  start: (() => Promise<Response>) | null;
  /** Everything up to this number is known already. */
  after?: number;
  /** Reads the thread's events from the one after `after` on. */
  resume: (after: number) => Promise<Response>;
  onEvent: (event: TurnEvent) => void;
  onCut: () => void;
  onOpen: () => void;
  /** Resolves after about that time, or earlier when trying again makes sense. */
  pause: (ms: number) => Promise<void>;
  /** The same where the turn waits for somebody: also earlier when they have answered, later if nobody looks. */
  await: (ms: number) => Promise<void>;
  signal: AbortSignal;
}

/**
 * `gone`: what became of the turn is in its messages. The service is idle and has nothing newer, or
 * it does not keep the turn's events any more.
 */
export type Ending = "done" | "gone" | "aborted";

/** When a stream has ended because its turn waits: what the service says of the next ones (`Retry-After`). */
const PARKED_MS = 30_000;

/** How often a request that got no answer at all is made again before the person is asked. */
const START_ATTEMPTS = 3;

export async function followTurn(line: Line): Promise<Ending> {
  let begun = line.start === null;
  let cursor = line.after ?? 0;
  let failures = 0;
  for (;;) {
    /** How long the turn is left alone, which waits for somebody. */
    let waitMs: number | null = null;
    try {
      const response = begun || !line.start ? await line.resume(cursor) : await line.start();
      if (response.status === 204) {
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

/** Null: there will be nothing more. */
function retryAfterMs(response: Response): number | null {
  const seconds = Number(response.headers.get("retry-after"));
  return seconds > 0 ? seconds * 1000 : null;
}

/** A refusal that says nothing about the turn, only about the moment. */
function passes(refusal: Refusal): boolean {
  return refusal.status === 429 || refusal.status >= 500;
}

/** 0.4 s, 0.8 s, … at most 15 s. */
export function backoff(failures: number): number {
  return Math.min(15_000, 200 * 2 ** Math.min(failures, 10));
}
