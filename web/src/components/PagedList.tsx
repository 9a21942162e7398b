// A list that comes in pages: its last failure, its rows, a note, and a button for the next page.

import type { ReactNode } from "react";
import { en } from "../en";
import type { Paged } from "../state/paged";
import { useStore } from "../state/store";

interface Props<T extends { id: string }> {
  list: Paged<T>;
  label: string;
  /** The note of an empty list. */
  none: string;
  /** Stands below the rows. */
  note?: ReactNode;
  more?: string;
  /** Its rows have nothing to press: the list itself takes the focus, so that the keys scroll it. */
  plain?: boolean;
  row: (item: T) => ReactNode;
}

export function PagedList<T extends { id: string }>({ list, label, none, note, more = en.common.showMore, plain = false, row }: Props<T>) {
  const { phase, items, nextCursor, problem } = useStore(list.store);
  return (
    <>
      <Problem words={problem} onRetry={phase === "failed" ? () => void list.load() : null} />
      <ul aria-label={label} aria-busy={phase === "loading"} tabIndex={plain ? 0 : undefined}>
        {items.map(row)}
      </ul>
      <p className="side-note" role="status">
        {phase === "loading" && en.common.loading}
        {phase === "ready" && items.length === 0 && none}
        {note}
      </p>
      {nextCursor !== null && (
        <button type="button" className="link-button" onClick={() => void list.more()}>
          {more}
        </button>
      )}
    </>
  );
}

export function Problem({ words, onRetry = null }: { words: string | null; onRetry?: (() => void) | null }) {
  return words === null ? null : (
    <p className="side-problem">
      <span role="alert">{words}</span>{" "}
      {onRetry && (
        <button type="button" className="link-button" data-testid="retry" onClick={onRetry}>
          {en.common.tryAgain}
        </button>
      )}
    </p>
  );
}
