// What a search of collections found: the passages in its result, each between marks that say what it is cited by
// (`<passage document="pears.md" part="2" under="Storing &gt; Cellar" id="ID">`).

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
const HEAD = /^<passage document="([^"\n]*)" part="(\d+)" under="([^"\n]*)" id="[^"\n]*">\n/gm;
const END = "\n</passage>";

/** The passages of a result; none where it is no such result. A stored one is a preview, and its last passage is cut. */
export function citationsOf({ name, status, result }: ToolEntry): Citation[] {
  if (name !== SEARCH_TOOL || status !== "done" || result === null) return [];
  return [...result.matchAll(HEAD)].map((head) => {
    const [text = ""] = result.slice(head.index + head[0].length).split(END, 1);
    return { document: plain(head[1]), part: Number(head[2]), heading: plain(head[3]), text: plain(text).trim() };
  });
}

/** The documents in which a turn found something, each once, in the order in which they were found. */
export function sourcesOf(view: TurnView): string[] {
  return [...new Set(callsIn(view).flatMap(citationsOf).map(({ document }) => document))];
}

const LETTERS: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

/** What the service wrote so that it closes no mark. */
function plain(text = ""): string {
  return text.replace(/&(?:lt|gt|quot|amp);/g, (escaped) => LETTERS[escaped] ?? escaped);
}
