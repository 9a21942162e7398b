// A running turn and its clock.

import type { Connection } from "../turn/status";

/** The running time of a turn, by this machine's clock. The clock stands still while the turn waits for a person. */
export interface TurnClock {
  /** The moment at which the running time would be zero, had the turn never waited. */
  since: number;
  /** The beginning of the present wait; null while the turn runs. */
  waitsSince: number | null;
}

export interface Running {
  turnId: string;
  connection: Connection;
  stopping: boolean;
  /** The first event has come: the service has the turn and can stop it. */
  begun: boolean;
  clock: TurnClock;
}

/** The clock of a turn that has run for so long. */
export function started(runningMs = 0): TurnClock {
  return { since: Date.now() - runningMs, waitsSince: null };
}

/** The clock of a turn that begins to wait, or runs again. */
export function waiting({ since, waitsSince }: TurnClock, waits: boolean): TurnClock {
  const now = Date.now();
  return waits ? { since, waitsSince: now } : { since: since + now - (waitsSince ?? now), waitsSince: null };
}
