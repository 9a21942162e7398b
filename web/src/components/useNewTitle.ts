import { useEffect, useRef } from "react";
import { conversation, page, threads } from "../state/page";
import type { TurnView } from "../turn/view";

/** When the list is read again, in milliseconds after the answer. The model may take 30 s; most take two. */
export const READ_AGAIN_MS = [2_000, 6_000, 15_000];

/** A model may name a new chat after its first answer. No event tells the title, so the list is read again. */
export function useNewTitle({ finishReason }: TurnView): void {
  const ran = useRef(finishReason === null);
  useEffect(() => {
    const isFirst = conversation.store.get().exchanges.length === 1;
    if (!ran.current || finishReason !== "stop" || !isFirst || !page.get().health?.titles) return;
    ran.current = false;
    // They go on if the person opens another chat meanwhile.
    for (const after of READ_AGAIN_MS) setTimeout(() => void threads.load(), after);
  }, [finishReason]);
}
