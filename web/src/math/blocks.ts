// Display formulas that stand on lines of their own (`$$ … $$`, `\[ … \]`), before Markdown is read: their lines could
// otherwise become headings or lists (`= 3`, `- x`). Each becomes a fenced block with a name of its own. Formulas within
// a paragraph are the work of `inline.ts`.

/** The language of such a block. A private character keeps a text from naming it. */
export const FORMULA_LANGUAGE = "\uE000formula";

/** Longer formulas stay source: drawing them would take too long. */
export const MAX_FORMULA_CHARS = 5_000;

const FENCE = /^[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})/;
/** What may stand before a block: marks of quotations and lists. */
const OPENING = /^((?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*[ \t]*)(\$\$|\\\[)/;
/** Code that is indented has four spaces or a tab. */
const INDENTED = /^(?: {4}|\t)/;
const ITEM = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+/;
const HAS_BLOCK = /\$\$|\\\[/;

/**
 * The text with its display formulas as fenced blocks. `growing`: the text ends before a formula that is not closed yet,
 * so that no source is seen while it streams.
 */
export function withFormulaBlocks(text: string, growing: boolean): string {
  if (!HAS_BLOCK.test(text)) return text;
  const lines = text.split("\n");
  const out: string[] = [];
  let fence = "";
  let inList = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const mark = FENCE.exec(line)?.[1];
    if (fence !== "") {
      if (mark?.startsWith(fence)) fence = "";
      out.push(line);
      continue;
    }
    if (mark) fence = mark;
    if (ITEM.test(line)) inList = true;
    else if (/^\S/.test(line)) inList = false;
    const formula = mark || (INDENTED.test(line) && !inList) ? null : formulaFrom(lines, at);
    if (formula === null) out.push(line);
    else if (formula === "open") {
      if (growing) return out.join("\n");
      out.push(line);
    } else {
      out.push(...formula.block);
      at = formula.last;
    }
  }
  return out.join("\n");
}

interface Block {
  block: string[];
  /** The index of its last line. */
  last: number;
}

/** The formula that begins with this line; `open` if its end has not come within the limit. */
function formulaFrom(lines: readonly string[], at: number): Block | "open" | null {
  const head = OPENING.exec(lines[at] ?? "");
  if (!head) return null;
  const [all, before = "", opening] = head;
  const closing = opening === "$$" ? "$$" : "\\]";
  const inside: string[] = [];
  let chars = 0;
  for (let index = at; index < lines.length && chars <= MAX_FORMULA_CHARS; index += 1) {
    const line = index === at ? (lines[at] ?? "").slice(all.length) : unquoted(lines[index] ?? "");
    const end = line.indexOf(closing);
    if (end === -1) {
      inside.push(line);
      chars += line.length + 1;
      continue;
    }
    // Words behind it: the formula is part of a paragraph.
    if (line.slice(end + 2).trim() !== "") return null;
    inside.push(line.slice(0, end));
    return { block: fenced(before, inside), last: index };
  }
  return lines.length > at && chars <= MAX_FORMULA_CHARS ? "open" : null;
}

function unquoted(line: string): string {
  return line.replace(/^(?:[ \t]*>)+/, "");
}

/** The lines behind the same marks: a list has its mark only once. */
function fenced(before: string, inside: readonly string[]): string[] {
  const next = before.replace(/[-*+\d.)]/g, " ");
  const tex = inside.map((line) => line.trim()).filter(Boolean);
  return [`${before}\`\`\`\`${FORMULA_LANGUAGE}`, ...tex.map((line) => next + line), `${next}\`\`\`\``];
}

/** The beginning of a formula within the last paragraph. A price (`$5`) begins none. */
const OPEN_INLINE = /(?:^|[^\\$\p{L}\p{N}])(\$(?![\d\s$])|\\\(|\$\$|\\\[)/gu;
/** The longest formula that is held back while it streams. */
const HELD_CHARS = 200;

/** Holds back a formula at the end of a growing text until its end has come. */
export function withoutOpenFormula(text: string): string {
  const from = Math.max(text.lastIndexOf("\n\n") + 1, text.length - 2 * HELD_CHARS);
  const tail = text.slice(from);
  // Within code nothing is a formula.
  if ((text.match(/^[ \t]*(`{3,}|~{3,})/gm) ?? []).length % 2 === 1) return text;
  let open: { at: number; closing: string } | null = null;
  let end = 0;
  for (const found of tail.matchAll(OPEN_INLINE)) {
    const opening = found[1] ?? "";
    const at = found.index + found[0].length - opening.length;
    if (at < end || (tail.slice(0, at).split("`").length - 1) % 2 === 1) continue;
    const closing = { "$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]" }[opening] ?? opening;
    const close = tail.indexOf(closing, at + opening.length);
    if (close === -1) {
      open = { at, closing };
      break;
    }
    end = close + closing.length;
  }
  return open === null || tail.length - open.at > HELD_CHARS ? text : text.slice(0, from + open.at);
}
