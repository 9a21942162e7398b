// Goes to the answer of a bookmark.

import { conversation, goTo } from "../../state/page";

/** Opens the chat, and scrolls to the turn once it is drawn. An answer beside the chat's path is not in it. */
export async function reveal(threadId: string, turnId: string): Promise<void> {
  goTo(threadId);
  await drawn(threadId);
  const { exchanges } = conversation.store.get();
  const place = exchanges.findIndex((exchange) => exchange.turnId === turnId);
  const scroller = document.querySelector(".transcript");
  if (place < 0 || scroller === null) return;
  const turn = () => scroller.querySelector<HTMLElement>(`[data-turn-id="${CSS.escape(turnId)}"]`);
  // Of a long chat only the part near the window is drawn.
  if (turn() === null) {
    scroller.scrollTo({ top: (scroller.scrollHeight * place) / exchanges.length });
    await frame();
    await frame();
  }
  turn()?.scrollIntoView({ block: "start" });
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

const frame = () => new Promise((settle) => requestAnimationFrame(settle));
