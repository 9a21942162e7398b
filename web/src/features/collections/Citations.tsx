// Passages that a search of collections found, and the documents that an answer may come from.

import { Clamp } from "../../components/Clamp";
import { FileIcon } from "../../components/Icons";
import type { TurnView } from "../../turn/view";
import { sourcesOf, type Citation } from "./citations";
import { words } from "./en";
import { ShelfIcon } from "./ShelfIcon";
import "./citations.css";

export function Citations({ found }: { found: readonly Citation[] }) {
  return (
    <ol className="citations" aria-label={words.passages}>
      {found.map(({ document, part, heading, text }, index) => (
        <li key={index} data-testid="citation">
          <p className="citation-head">
            <FileIcon />
            <cite dir="auto">{document}</cite>
            <span>
              {words.part(part, heading)}
            </span>
          </p>
          <Clamp growing={false}>
            <blockquote dir="auto">{text}</blockquote>
          </Clamp>
        </li>
      ))}
    </ol>
  );
}

/** The documents that a turn found, below its answer. The cards have the passages. */
export function Sources({ view }: { view: TurnView }) {
  const sources = view.finishReason === null ? [] : sourcesOf(view);
  if (sources.length === 0) return null;
  return (
    <p className="sources" data-testid="sources">
      <ShelfIcon />
      <span>
        {words.foundIn}{" "}
        {sources.map((source, index) => (
          <span key={source}>
            {index > 0 && ", "}
            <cite dir="auto">{source}</cite>
          </span>
        ))}
      </span>
    </p>
  );
}
