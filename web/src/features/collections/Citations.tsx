// Passages that a search of collections found, in its card.

import { Clamp } from "../../components/Clamp";
import { FileIcon } from "../../components/Icons";
import type { Citation } from "./citations";
import { words } from "./en";
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
