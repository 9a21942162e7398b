// The turn whose outcome waits for the reader's next message. Features know it.

import { features, type Turns, type Waiting } from "../feature";

export function waitingIn(turns: Turns): Waiting | null {
  return features().map((feature) => feature.waiting?.(turns)).find(Boolean) ?? null;
}
