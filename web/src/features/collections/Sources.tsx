// The documents that an answer may come from.

import type { TurnView } from "../../turn/view";
import { sourcesOf } from "./citations";
import { words } from "./en";
import { ShelfIcon } from "./ShelfIcon";
import "./citations.css";

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
