// The whole screen while all data of the person is deleted. It shows nothing else of them.

import { useEffect, useRef } from "react";
import { useStore } from "../state/store";
import { eraseWords } from "./en";
import { beginAnew, erasing } from "./erasure";

export function ErasureScreen() {
  const { state, removed, error } = useStore(erasing);
  const heading = useRef<HTMLHeadingElement>(null);
  const done = state === "done";
  useEffect(() => heading.current?.focus(), [done]);
  return (
    <main className="unavailable" data-testid="erasure">
      <h1 ref={heading} tabIndex={-1}>{done ? eraseWords.done : eraseWords.title}</h1>
      <p role="status">
        {done ? eraseWords.doneNote : eraseWords.running} {eraseWords.removed(removed)}
      </p>
      {error && <p className="side-problem" role="alert">{error}</p>}
      {done && (
        <button type="button" className="primary-button" data-testid="anew" onClick={beginAnew}>
          {eraseWords.anew}
        </button>
      )}
    </main>
  );
}
