// The title of a chat that nobody has named: the first words of its first message, on one line, until the list has the
// service's. The service has the same function (`durable/wire/src/title.rs`), and the tests of both read its cases.

import { MARK, parseQuestion } from "./attachments";

const TITLE_CHARS = 80;

/** Characters that nobody sees, and that may turn the text around them. */
const UNSEEN = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

export function titleOf(message: string): string {
  const { text, files } = parseQuestion(message);
  const lines = text.split("\n");
  const words = lines.filter((line) => labelOf(line) === null).map(plain).find((line) => /[\p{L}\p{N}]/u.test(line));
  const file = files[0]?.name ?? lines.map(labelOf).find((name) => name !== null) ?? "";
  return [...(words ?? oneLine(file))].slice(0, TITLE_CHARS).join("").trimEnd();
}

function labelOf(line: string): string | null {
  return MARK.exec(line.trim())?.[1] ?? null;
}

/** A line without a fence, the mark of a heading, a list or a quotation before it, and pairs of marks within it. */
function plain(line: string): string {
  const text = line.trim();
  if (/^(```|~~~)/.test(text)) return "";
  const words = text.replace(/^(?:(?:#+ |[-*+>] )\s*)+/, "");
  return oneLine(words.replace(/(\*\*|~~|`)(?!\s)((?:(?!\1).)+)(?<!\s)\1/g, "$2"));
}

function oneLine(text: string): string {
  return text.replace(UNSEEN, "").split(/[\s\p{Cc}]+/u).filter(Boolean).join(" ");
}
