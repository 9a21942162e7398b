// Prints the open chat, once it is drawn as it stays.

import type { ConversationState } from "./onScreen";
import { answerView, callDetails, colours, richText } from "./parts";
import type { Store } from "./store";

/** Prints nothing where the chat cannot be read, or the person opens another one meanwhile. */
export async function print(store: Store<ConversationState>, threadId: string): Promise<void> {
  await Promise.all([answerView.load(), richText.load(), callDetails.load(), colours.load()]);
  const isReady = await new Promise<boolean>((settle) => {
    const look = () => {
      const { threadId: open, phase } = store.get();
      if (open === threadId && phase === "loading") return;
      leave();
      settle(open === threadId && phase === "ready");
    };
    const leave = store.subscribe(look);
    look();
  });
  if (!isReady) return;
  // Two frames draw what has just come.
  for (let frame = 0; frame < 2; frame += 1) await new Promise((drawn) => requestAnimationFrame(drawn));
  window.print();
}
