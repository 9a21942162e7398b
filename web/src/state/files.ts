// Files as text. What is no text, or too long for one message, is refused by name.

import type { AttachedFile } from "../turn/attachments";

/** More bytes cannot be in a message of 100 000 characters. */
const MAX_BYTES = 400_000;

export async function textFiles(list: readonly File[]): Promise<{ files: AttachedFile[]; refused: string | null }> {
  const files: AttachedFile[] = [];
  const refused: string[] = [];
  for (const file of list) {
    const text = await textOf(file);
    if (typeof text === "string") files.push({ name: file.name, text });
    else refused.push(`“${file.name}” ${text.reason}`);
  }
  return { files, refused: refused.length === 0 ? null : `${refused.join(", ")}.` };
}

async function textOf(file: File): Promise<string | { reason: string }> {
  if (file.size > MAX_BYTES) return { reason: "is too large" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? { reason: "is not a text file" } : text;
  } catch (error) {
    return { reason: error instanceof TypeError ? "is not a text file" : "cannot be read" };
  }
}
