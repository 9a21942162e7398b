// The files of a paste.

import { en } from "../en";
import type { Attachment } from "./drafts";

/** A pasted text from this length on becomes an attached file, so that the message stays in sight. */
export const FOLDED_CHARS = 4_000;

/** The files of a paste: those on the clipboard, or a long text as a file; none for a short text. */
export function pastedFiles(clipboard: Pick<DataTransfer, "files" | "getData">, before: readonly Attachment[]): File[] {
  if (clipboard.files.length > 0) return [...clipboard.files];
  const text = clipboard.getData("text/plain");
  if (text.length < FOLDED_CHARS) return [];
  let n = 1;
  while (before.some(({ name }) => name === en.attachments.pasted(n))) n += 1;
  return [new File([text], en.attachments.pasted(n), { type: "text/plain" })];
}
