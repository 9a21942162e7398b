// The erasure of all data of this person. The first answer has a receipt, by which the page reads the progress: the session
// ends with the beginning.

import { requestJson, wordsFor } from "../api/http";
import { en } from "../en";
import { forgetUser, page } from "../state/page";
import { erasureScreen } from "../state/parts";
import { Store } from "../state/store";
import { tellTabs } from "../state/tabs";
import { cancelDownload } from "./export";

/** The answer of the routes (`src/account/erasure.rs`). */
interface Progress {
  receipt?: string;
  ended_at: number | null;
  removed: Record<string, number>;
}

interface Erasing {
  state: "none" | "running" | "done";
  removed: number;
  error: string | null;
}

export const erasing = new Store<Erasing>({ state: "none", removed: 0, error: null });

/** Each question carries the work on. */
const ASK_MS = 2000;

export async function eraseAll(): Promise<void> {
  let begun: Progress;
  try {
    await erasureScreen.load();
  } catch {
    erasing.set({ error: en.page.partFailed });
    return;
  }
  try {
    begun = await requestJson<Progress>("/api/me", { method: "DELETE", body: { confirm: "erase" } });
  } catch (error) {
    erasing.set({ error: wordsFor(error) });
    return;
  }
  cancelDownload();
  // The session is over. A request of the page would begin another one, or put the sign-in screen over the progress.
  page.set({ phase: "erasing" });
  forgetUser();
  erasing.set({ state: "running" });
  tellTabs({ what: "signed_out" });
  void follow(begun.receipt ?? "");
}

/** Asks until all is gone. An answer that does not come is asked for again. */
async function follow(receipt: string): Promise<void> {
  for (let running = true; running;) {
    await new Promise((go) => setTimeout(go, ASK_MS));
    try {
      const { ended_at, removed } = await requestJson<Progress>(`/api/me/erasure?receipt=${encodeURIComponent(receipt)}`);
      running = ended_at === null;
      const count = Object.values(removed).reduce((sum, each) => sum + each, 0);
      erasing.set({ state: running ? "running" : "done", removed: count, error: null });
    } catch (error) {
      erasing.set({ error: wordsFor(error) });
    }
  }
}

/** Forgets what this browser keeps, and begins as somebody new. */
export function beginAnew(): void {
  try {
    localStorage.clear();
    sessionStorage.clear();
  } catch {
    // The browser forbids storage, so it kept nothing.
  }
  location.assign("/");
}
