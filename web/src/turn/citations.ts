// What a search of collections found: the passages in its result, each headed by what it is cited by
// (`["pears.md", part 2, under "Storing > Cellar", document ID]`).

import { callsIn, type ToolEntry, type TurnView } from "./view";

export interface Citation {
  document: string;
  part: number;
  /** The headings above it; blank where there are none. */
  heading: string;
  text: string;
}

/** The tool whose results cite. */
const SEARCH_TOOL = "search_collection";
const QUOTED = String.raw`"((?:[^"\\]|\\.)*)"`;
const HEAD = new RegExp(String.raw`(?:^|\n\n)\[${QUOTED}, part (\d+)(?:, under ${QUOTED})?, document [^\]\s]+\]\n`, "g");

/** What stands last where not all fitted; it is meant for the model. */
const MORE = /\n\n\[and \d+ more: [^\]\n]*\]$/;

/** The passages of a result; none where it is no such result. A stored one is a preview, and its last passage is cut. */
export function citationsOf({ name, status, result }: ToolEntry): Citation[] {
  if (name !== SEARCH_TOOL || status !== "done" || result === null) return [];
  const heads = [...result.matchAll(HEAD)];
  return heads.map((head, index) => ({
    document: unquoted(head[1] ?? ""),
    part: Number(head[2]),
    heading: unquoted(head[3] ?? ""),
    text: result.slice(head.index + head[0].length, heads[index + 1]?.index).replace(MORE, "").trim(),
  }));
}

/** The documents in which a turn found something, each once, in the order in which they were found. */
export function sourcesOf(view: TurnView): string[] {
  return [...new Set(callsIn(view).flatMap(citationsOf).map(({ document }) => document))];
}

/** As Rust writes a text between quotation marks. */
function unquoted(text: string): string {
  return text.replace(/\\(?:u\{([0-9a-f]{1,6})\}|([^]))/g, (all, code: string | undefined, letter: string | undefined) => {
    if (code !== undefined) return Number.parseInt(code, 16) <= 0x10ffff ? String.fromCodePoint(Number.parseInt(code, 16)) : all;
    return { n: "\n", t: "\t", r: "\r", "0": "\0" }[letter ?? ""] ?? letter ?? "";
  });
}
