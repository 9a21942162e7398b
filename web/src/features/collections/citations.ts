// The passages in the result of a search. The marks around a passage name its source
// (`<passage document="pears.md" part="2" under="Storing &gt; Cellar" id="ID">`).

import { callsIn, type ToolEntry, type TurnView } from "../../turn/view";

export interface Citation {
  document: string;
  part: number;
  /** The headings above it; blank where there are none. */
  heading: string;
  text: string;
}

/** The tool that searches collections. */
const SEARCH_TOOL = "search_collection";
const HEAD = /^<passage document="([^"\n]*)" part="(\d+)" under="([^"\n]*)" id="[^"\n]*">\n/gm;
const END = "\n</passage>";

/** The passages of a search; none for other calls. A stored result is a preview, whose last passage may be cut. */
export function citationsOf({ name, status, result }: ToolEntry): Citation[] {
  if (name !== SEARCH_TOOL || status !== "done" || result === null) return [];
  return [...result.matchAll(HEAD)].map((head) => {
    const [text = ""] = result.slice(head.index + head[0].length).split(END, 1);
    return { document: plain(head[1]), part: Number(head[2]), heading: plain(head[3]), text: plain(text).trim() };
  });
}

/** The documents that a turn found, each once, in the order in which it found them. Turns of earlier versions have them
    in the results alone, as far as these are stored. */
export function sourcesOf(view: TurnView): string[] {
  const found = (call: ToolEntry) => (call.sources.length > 0 ? call.sources : citationsOf(call).map(({ document }) => document));
  return [...new Set(callsIn(view).flatMap(found))];
}

const LETTERS: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

/** Undoes the escapes by which the service keeps a text from closing its mark. */
function plain(text = ""): string {
  return text.replace(/&(?:lt|gt|quot|amp);/g, (escaped) => LETTERS[escaped] ?? escaped);
}
