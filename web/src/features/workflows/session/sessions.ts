// Reads the session of the open chat again after news of it, and ends it.

import { request, wordsFor } from "../../../api/http";
import { readThread } from "../../../api/threads";
import { OneByOne } from "../../../state/oneByOne";
import { conversation } from "../../../state/page";
import { PerChat } from "../../../state/perChat";
import { Store } from "../../../state/store";
import { keep, kept } from "../session";

/** The sessions that a person hid once they were over, by chat. */
export const hidden = new PerChat<string>("espalier.workflows.hidden", (id) => id === "");
hidden.load();

export class Sessions {
  /** Why the session of this chat was not ended. */
  readonly desk = new Store<{ threadId: string | null; problem: string | null }>({ threadId: null, problem: null });
  readonly #readings = new OneByOne();
  /** A reading that has not begun has all news so far. */
  #waits = false;

  /** Reads the session of a chat. Without an answer the one on screen stays. */
  async renew(threadId: string): Promise<void> {
    if (this.#waits) return;
    this.#waits = true;
    try {
      const details = await this.#readings.run(() => {
        this.#waits = false;
        return readThread(threadId, new AbortController().signal);
      });
      const { threadId: known, seq } = kept.get();
      const isOlder = known === threadId && details.last_seq < seq;
      if (!isOlder && conversation.store.get().threadId === threadId) keep(details);
    } catch {
      // The news still say where the session stands.
      this.#waits = false;
    }
  }

  async end(threadId: string): Promise<void> {
    try {
      await request(`/api/threads/${threadId}/workflow-session`, { method: "DELETE" });
      this.desk.set({ threadId, problem: null });
    } catch (error) {
      this.desk.set({ threadId, problem: wordsFor(error) });
    }
    await this.renew(threadId);
    // The chat's own status and buttons go by the session too.
    conversation.store.set({});
  }
}

export const sessions = new Sessions();
