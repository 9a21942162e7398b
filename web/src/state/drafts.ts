// What was typed and not sent, one draft a chat. Kept in sessionStorage, so that neither a failed
// send nor a reload loses it, and no other tab or later visitor sees it.

import { Store } from "./store";

const KEY = "espalier.drafts";

/** The chat that has no id yet. */
export const NEW_CHAT = "new";

function load(): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}

export const drafts = new Store<Record<string, string>>(load());

export function setDraft(chat: string, text: string): void {
  drafts.set({ [chat]: text });
  const kept = Object.entries(drafts.get()).filter(([, draft]) => draft !== "");
  try {
    sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage is full or forbidden: the draft still lives as long as the page.
  }
}

/** Gives unsent words back without losing what was typed meanwhile. */
export function restoreDraft(chat: string, text: string): void {
  const typed = drafts.get()[chat] ?? "";
  setDraft(chat, typed === "" ? text : `${text}\n\n${typed}`);
}
