// Why an act of the person failed, and whether, and from when on, it can be tried again.

import { passes } from "../api/follow";
import { Refusal, Unreachable, wordsFor } from "../api/http";

export interface Problem {
  /** For the reader. */
  words: string;
  /** No answer came: the problem is over when the service answers again. */
  lost: boolean;
  /** Tries it again; null where that would fail again. */
  retry: (() => void) | null;
  /** The service asked to wait until then (milliseconds since 1970). */
  retryAt: number | null;
}

/** `retry`: repeats the act. It is offered where the cause passes by itself. */
export function problemOf(error: unknown, retry: (() => void) | null = null): Problem {
  const wait = error instanceof Refusal ? error.retryAfterMs : null;
  return {
    words: wordsFor(error),
    lost: error instanceof Unreachable,
    retry: !(error instanceof Refusal) || passes(error) || error.code === "turn_in_progress" ? retry : null,
    retryAt: wait === null ? null : Date.now() + wait,
  };
}
