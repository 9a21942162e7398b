// Scrolls the open chat to one of its turns. Of a long chat only the part near the window is drawn.

import { conversation } from "../state/page";

/** The turn on screen; null where the chat has none of this id. */
export async function revealTurn(turnId: string): Promise<HTMLElement | null> {
  const { exchanges } = conversation.store.get();
  const place = exchanges.findIndex((exchange) => exchange.turnId === turnId);
  const scroller = document.querySelector(".transcript");
  if (place < 0 || scroller === null) return null;
  const turn = () => scroller.querySelector<HTMLElement>(`[data-turn-id="${CSS.escape(turnId)}"]`);
  if (turn() === null) {
    scroller.scrollTo({ top: (scroller.scrollHeight * place) / exchanges.length });
    await frame();
    await frame();
  }
  turn()?.scrollIntoView({ block: "start" });
  return turn();
}

export const frame = () => new Promise((settle) => requestAnimationFrame(settle));
