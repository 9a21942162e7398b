// A growing Markdown text in parts that mean the same alone as together: each begins with a heading or a paragraph at the
// left edge, behind a blank line and outside of code. A text with definitions, footnotes or raw HTML stays whole, because
// these reach over blank lines.

export interface Parts {
  parts: string[];
  /** The level of the largest heading, from 1 on; 1 without headings. */
  largest: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^(#{1,6})[ \t]+\S/;
/** Begins a paragraph: no mark of a list, a quotation, a table or a line below a heading. */
const WORDS = /^[\p{L}*_("“„«]/u;
const REACHES = /^ {0,3}(\[[^\]]+\]:|<[!?a-z/])/i;
/** Shorter parts are not worth the work. */
const LEAST_CHARS = 600;

export function partsOf(text: string): Parts {
  const starts = [0];
  let at = 0;
  let fence: string | null = null;
  let largest = 7;
  let isWhole = false;
  let afterBlank = true;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
    } else {
      const level = HEADING.exec(line)?.[1]?.length;
      if (mark) fence = mark;
      largest = Math.min(largest, level ?? 7);
      isWhole ||= REACHES.test(line);
      const begins = afterBlank && (level !== undefined || (WORDS.test(line) && !/^[*_](\s|$)/.test(line)));
      if (begins && at - (starts.at(-1) ?? 0) >= LEAST_CHARS) starts.push(at);
    }
    afterBlank = line.trim() === "";
    at += line.length + 1;
  }
  const parts = isWhole ? [text] : starts.map((start, index) => text.slice(start, starts[index + 1]));
  return { parts, largest: largest === 7 ? 1 : largest };
}
