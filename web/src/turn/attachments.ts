// Attached text files are part of the message's text, in a form that a model can read and that this page recognises in
// a stored message. Images and PDFs are parts of the message; a stored message has a mark for each.

import { en } from "../en";
import type { Content, ContentPart } from "../wire";

export interface AttachedFile {
  name: string;
  text: string;
}

/** An image or a PDF. */
export interface Medium {
  name: string;
  /** A data URL; null while the page knows only the mark. */
  data: string | null;
}

/** The service's limits for one message (docs/wire-protocol.md): images and PDFs, and their bytes before base64. */
export const MAX_MEDIA = 8;
export const MAX_MEDIA_BYTES = 600_000;

export function isImage({ data }: Medium): boolean {
  return data?.startsWith("data:image/") ?? false;
}

/** The bytes that a data URL stands for. */
export function bytesOf({ data }: Medium): number {
  const base64 = data?.slice(data.indexOf(",") + 1) ?? "";
  return (base64.length * 3) / 4 - (base64.match(/=*$/)?.[0].length ?? 0);
}

/** A message as it is sent, without media whose data is lost. */
export function contentOf(text: string, media: readonly Medium[]): Content {
  const parts = media.flatMap((medium): ContentPart[] => {
    const { name, data } = medium;
    if (data === null) return [];
    return [isImage(medium) ? { type: "image", data } : { type: "file", name, data }];
  });
  if (parts.length === 0) return text;
  return text.trim() === "" ? parts : [{ type: "text", text }, ...parts];
}

/** The reverse: the text of a message, and its media with their names. */
export function partsOf(content: Content): { text: string; media: Medium[] } {
  if (typeof content === "string") return { text: content, media: [] };
  const words: string[] = [];
  const media: Medium[] = [];
  for (const part of content) {
    if (part.type === "text") words.push(part.text);
    else media.push({ name: part.type === "image" ? en.attachments.image : part.name, data: part.data });
  }
  return { text: words.join("\n\n"), media };
}

export const MARK = /^\[([^\n]{1,300}), \d+ kB\]$/;

/** The text of a stored message, and the media for which the marks at its end stand. */
export function withoutMarks(stored: string): { text: string; media: Medium[] } {
  const paragraphs = stored.split("\n\n");
  const media: Medium[] = [];
  for (;;) {
    const mark = paragraphs.at(-1) ?? "";
    if (media.length === MAX_MEDIA || !MARK.test(mark)) break;
    media.unshift({ name: mark.slice(1, -1), data: null });
    paragraphs.pop();
  }
  return { text: paragraphs.join("\n\n"), media };
}

const FENCE = "`````";
const HEAD = /^Attached file: ([^\n]{1,200})\n`````\n/;

/** The message with its files after it. */
export function withFiles(text: string, files: readonly AttachedFile[]): string {
  return [text, ...files.map(blockOf)].filter((part) => part !== "").join("\n\n");
}

function blockOf({ name, text }: AttachedFile): string {
  // A zero-width space keeps a file from ending its own block.
  const body = text.replaceAll(FENCE, "``\u200b```").replace(/\n?$/, "\n");
  return `Attached file: ${name.replace(/\s+/g, " ").slice(0, 200)}\n${FENCE}\n${body}${FENCE}`;
}

/** The message without its files, and the files. Anything that differs from the form stays text. */
export function parseQuestion(question: string): { text: string; files: AttachedFile[] } {
  const at = question.search(/(^|\n\n)Attached file: [^\n]{1,200}\n`````\n/);
  if (at === -1) return { text: question, files: [] };
  const files: AttachedFile[] = [];
  let rest = question.slice(at).replace(/^\n\n/, "");
  while (rest !== "") {
    const head = HEAD.exec(rest);
    const end = rest.indexOf(`\n${FENCE}`, (head?.[0].length ?? 0) - 1);
    if (!head?.[1] || end === -1) return { text: question, files: [] };
    files.push({ name: head[1], text: rest.slice(head[0].length, end) });
    const after = rest.slice(end + 1 + FENCE.length);
    if (after !== "" && !after.startsWith("\n\n")) return { text: question, files: [] };
    rest = after.replace(/^\n\n/, "");
  }
  return { text: question.slice(0, at), files };
}
