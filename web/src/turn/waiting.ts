// Whether the outcome of a turn waits for the reader's next message. Features tell it.

import { features, type Turns, type Waiting } from "../feature";

export function waitingIn(turns: Turns): Waiting | null {
  return features().map((feature) => feature.waiting?.(turns)).find(Boolean) ?? null;
}
