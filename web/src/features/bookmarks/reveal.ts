// Goes to the answer of a bookmark.

import { frame, revealTurn } from "../../find/reveal";
import { conversation, goTo } from "../../state/page";

/** Opens the chat, and scrolls to the turn once it is drawn. An answer beside the chat's path is not in it. */
export async function reveal(threadId: string, turnId: string): Promise<void> {
  goTo(threadId);
  await drawn(threadId);
  await revealTurn(turnId);
}

/** Settles when the chat stands on screen, or another one was opened. */
async function drawn(threadId: string): Promise<void> {
  await new Promise<void>((settle) => {
    const look = () => {
      const state = conversation.store.get();
      if (state.threadId === threadId && state.phase === "loading") return;
      leave();
      settle();
    };
    const leave = conversation.store.subscribe(look);
    look();
  });
  await frame();
  await frame();
}
