// Waits between two requests of a turn.

/** A reason to ask at once whether a waiting turn goes on. It holds until the page has asked. */
export class Look extends EventTarget {
  #wanted = false;

  get wanted(): boolean {
    return this.#wanted;
  }

  want(): void {
    this.#wanted = true;
    this.dispatchEvent(new Event("wanted"));
  }

  looks(): void {
    this.#wanted = false;
  }
}

/** Waits for this time, or until the network or the reader comes back, or the wait is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // A random part keeps many pages from coming back at the same instant.
    const timer = setTimeout(() => end(), ms * (0.8 + Math.random() * 0.4));
    const end = untilBack(signal, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The same while a turn waits for a person: also ends when a look is wanted, and goes on while the tab is hidden. */
export function awaitAnswer(ms: number, signal: AbortSignal, look: Look): Promise<void> {
  return new Promise((resolve) => {
    if (look.wanted) return resolve();
    const timer = setTimeout(() => {
      if (document.visibilityState !== "hidden") end();
    }, ms);
    const end = untilBack(signal, () => {
      clearTimeout(timer);
      look.removeEventListener("wanted", end);
      resolve();
    });
    look.addEventListener("wanted", end);
  });
}

/** Calls `back` when the network or the reader is back, when the wait is aborted, or by the function that it returns. */
function untilBack(signal: AbortSignal, back: () => void): () => void {
  const end = () => {
    window.removeEventListener("online", end);
    document.removeEventListener("visibilitychange", onVisible);
    signal.removeEventListener("abort", end);
    back();
  };
  const onVisible = () => {
    if (document.visibilityState === "visible") end();
  };
  window.addEventListener("online", end);
  document.addEventListener("visibilitychange", onVisible);
  signal.addEventListener("abort", end);
  return end;
}
