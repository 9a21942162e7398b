// The page's one instance of each part, and the wires between them.

import { openSession, wordsFor, whenUserChanges } from "../api/http";
import { readHealth } from "../api/threads";
import { Conversation } from "./conversation";
import { setAddress, threadInAddress } from "./route";
import { Store } from "./store";
import { Threads } from "./threads";

export interface PageState {
  phase: "starting" | "ready" | "failed";
  /** No model is configured: answers come from the demo model. */
  demo: boolean;
  problem: string | null;
  /** Something the reader should know that is nobody's failure. */
  notice: string | null;
}

export const page = new Store<PageState>({
  phase: "starting",
  demo: false,
  problem: null,
  notice: null,
});

export const threads = new Threads();

export const conversation = new Conversation({
  began: (threadId, content) => {
    setAddress(threadId);
    threads.touch(threadId, content);
  },
  ended: () => void threads.load(),
});

export async function startPage(): Promise<void> {
  page.set({ phase: "starting", problem: null });
  if (threadInAddress() !== null) conversation.expect();
  try {
    await openSession();
  } catch (error) {
    page.set({ phase: "failed", problem: wordsFor(error) });
    return;
  }
  page.set({ phase: "ready" });
  void threads.load();
  // A new chat is open already, and may have been written to while the session was on its way.
  const threadId = threadInAddress();
  if (threadId !== null) void conversation.open(threadId);
  // A nicety: without the answer the page only does not say that this is the demo model.
  readHealth().then(
    (health) => page.set({ demo: health.provider === "demo" }),
    () => {},
  );
}

export function goTo(threadId: string | null): void {
  setAddress(threadId);
  void conversation.open(threadId);
}

export async function removeThread(threadId: string): Promise<void> {
  const gone = await threads.remove(threadId);
  if (gone && conversation.store.get().threadId === threadId) goTo(null);
}

export function dismissNotice(): void {
  page.set({ notice: null });
}

window.addEventListener("popstate", () => void conversation.open(threadInAddress()));

whenUserChanges(() => {
  page.set({
    notice: "Your session had run out, and a new one has begun. Earlier chats belonged to the old one.",
  });
  threads.forget();
  void threads.load();
});
