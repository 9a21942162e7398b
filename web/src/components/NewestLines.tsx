// A line for each part of a turn that runs, while its work is folded.

import { turnWords } from "../turn/en";
import { newestLines } from "../turn/newest";
import type { TurnView } from "../turn/view";

export function NewestLines({ view }: { view: TurnView }) {
  const { lines, more } = newestLines(view);
  if (lines.length === 0) return null;
  return (
    <ul className="newest" data-testid="newest" aria-label={turnWords.work.now}>
      {lines.map(({ id, title, words }) => (
        <li key={id}>
          <span className="spinner" aria-hidden="true" />
          <span className="newest-title" dir="auto">{title}</span>
          <bdi className="newest-words">{words}</bdi>
        </li>
      ))}
      {more > 0 && <li>{turnWords.work.more(more)}</li>}
    </ul>
  );
}
