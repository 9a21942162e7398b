// Files go along as text, in a form that a model reads and that this page knows again when the message comes back.

export interface AttachedFile {
  name: string;
  text: string;
}

const FENCE = "`````";
const HEAD = /^Attached file: ([^\n]{1,200})\n`````\n/;

/** The message with its files after it. */
export function withFiles(text: string, files: readonly AttachedFile[]): string {
  return [text, ...files.map(blockOf)].filter((part) => part !== "").join("\n\n");
}

function blockOf({ name, text }: AttachedFile): string {
  // A file must not end its own block.
  const body = text.replaceAll(FENCE, "``\u200b```").replace(/\n?$/, "\n");
  return `Attached file: ${name.replace(/\s+/g, " ").slice(0, 200)}\n${FENCE}\n${body}${FENCE}`;
}

/** The message apart from its files. What is not exactly in that form stays text. */
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
