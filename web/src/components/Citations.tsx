// The passages that a search of collections found, in place of its result's plain text.

import type { Citation } from "../turn/citations";
import { Clamp } from "./Clamp";
import { FileIcon } from "./Icons";

export function Citations({ found }: { found: readonly Citation[] }) {
  return (
    <ol className="citations" aria-label="Passages that were found">
      {found.map(({ document, part, heading, text }, index) => (
        <li key={index} data-testid="citation">
          <p className="citation-head">
            <FileIcon />
            <cite>{document}</cite>
            <span>
              part {part}
              {heading && ` · ${heading}`}
            </span>
          </p>
          <Clamp growing={false}>
            <blockquote>{text}</blockquote>
          </Clamp>
        </li>
      ))}
    </ol>
  );
}
