// The turn whose outcome waits for the reader's next message. Features know it.

import { features, type Turns, type Waiting } from "../feature";
import type { ConversationState } from "../state/onScreen";
import { isAsked, type Exchange } from "./stored";

export function waitingIn(turns: Turns): Waiting | null {
  return features().map((feature) => feature.waiting?.(turns)).find(Boolean) ?? null;
}

/** Whether the reader may ask this again, or change its question: no turn runs, and no feature holds this one. */
export function mayAskAgain(exchange: Exchange, { running, exchanges }: ConversationState): boolean {
  return isAsked(exchange) && !running && !features().some((feature) => feature.holds?.(exchange.answer, exchanges));
}
