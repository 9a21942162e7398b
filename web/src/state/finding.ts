// The search within the open chat. Null: it is closed. `opened`: the words with which it was opened.

import { Store } from "./store";

export const finding = new Store<{ words: string | null; opened: string }>({ words: null, opened: "" });

export function openFind(words = ""): void {
  finding.set({ words, opened: words });
}

export function closeFind(): void {
  finding.set({ words: null });
}
