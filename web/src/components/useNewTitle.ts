import { useEffect, useRef } from "react";
import { conversation, page, threads } from "../state/page";
import type { Exchange } from "../turn/stored";
import type { TurnView } from "../turn/view";

/** When the list is read again, in milliseconds after the answer. Most models take two seconds. One call may take 30 s, and
    the second one begins ten seconds after a failed first. */
export const READ_AGAIN_MS = [2_000, 6_000, 15_000, 40_000, 75_000];

/** Whether a chat has its first finished answer, by which the service names it. Cancelled and failed turns do not count. After
    an answer in a version that is not on screen, the list is read for nothing. */
export function hasFirstAnswer(exchanges: readonly Pick<Exchange, "answer">[]): boolean {
  return exchanges.filter(({ answer }) => answer?.finishReason === "stop").length === 1;
}

/** A model may name a chat after its first answer. No event tells the title, so the list is read again. */
export function useNewTitle({ finishReason }: TurnView): void {
  const ran = useRef(finishReason === null);
  useEffect(() => {
    const isFirst = hasFirstAnswer(conversation.store.get().exchanges);
    if (!ran.current || finishReason !== "stop" || !isFirst || !page.get().health?.titles) return;
    ran.current = false;
    // They go on if the person opens another chat meanwhile. Without a session they would ask for another one.
    for (const after of READ_AGAIN_MS) setTimeout(() => page.get().phase === "ready" && void threads.load(), after);
  }, [finishReason]);
}
