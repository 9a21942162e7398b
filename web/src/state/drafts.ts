// Drafts: unsent text and attachments, one draft for each chat. sessionStorage keeps them, so a failed send or a reload
// loses nothing, and other tabs and later visitors do not see them.

import { parseQuestion, type AttachedFile, type Medium } from "../turn/attachments";
import { Store } from "./store";

const KEY = "espalier.drafts";
const FILES_KEY = "espalier.draft-files";

/** The chat that has no id yet. */
export const NEW_CHAT = "new";

function load<T>(key: string): Record<string, T> {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "{}") as Record<string, T>;
  } catch {
    return {};
  }
}

function keep(key: string, drafts: Record<string, { length: number }>): void {
  const kept = Object.entries(drafts).filter(([, draft]) => draft.length > 0);
  try {
    sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage is full or forbidden: the draft lasts as long as the page.
  }
}

export type Attachment = AttachedFile | Medium;

export const drafts = new Store<Record<string, string>>({});
export const draftFiles = new Store<Record<string, Attachment[]>>({});

/** Loads the kept drafts. `typed`: the text that the person typed before the script had come. */
export function loadDrafts(typed: string): void {
  drafts.set(load(KEY));
  draftFiles.set(load(FILES_KEY));
  if (typed.trim() !== "") setDraft(NEW_CHAT, typed);
}

/** The text files and the images and PDFs of a draft. */
export function sorted(attached: readonly Attachment[]): { files: AttachedFile[]; media: Medium[] } {
  return {
    files: attached.filter((each) => "text" in each),
    media: attached.filter((each) => "data" in each),
  };
}

/** The draft of a chat: its text, and what is attached to it. */
export function draftOf(chat: string): { text: string; files: AttachedFile[]; media: Medium[] } {
  return { text: drafts.get()[chat] ?? "", ...sorted(draftFiles.get()[chat] ?? []) };
}

export function setDraft(chat: string, text: string): void {
  drafts.set({ [chat]: text });
  keep(KEY, drafts.get());
}

export function setDraftFiles(chat: string, files: Attachment[]): void {
  draftFiles.set({ [chat]: files });
  keep(FILES_KEY, draftFiles.get());
}

export function clearDraft(chat: string): void {
  setDraft(chat, "");
  setDraftFiles(chat, []);
}

/** Puts an unsent message back into the draft, before the text that was typed meanwhile. */
export function restoreDraft(chat: string, message: string, media: readonly Medium[]): void {
  const { text, files } = parseQuestion(message);
  const typed = drafts.get()[chat] ?? "";
  setDraft(chat, typed === "" ? text : `${text}\n\n${typed}`);
  const attached = [...files, ...media];
  if (attached.length > 0) setDraftFiles(chat, [...attached, ...(draftFiles.get()[chat] ?? [])]);
}
