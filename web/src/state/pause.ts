/** A reason to look at once whether a turn that waits goes on. It holds until somebody has looked. */
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

/** Waits, but not longer than until the network or the reader comes back, or the wait is called off. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // A little earlier or later, so that many pages do not come back in the same instant.
    const timer = setTimeout(() => end(), ms * (0.8 + Math.random() * 0.4));
    const end = untilBack(signal, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The same, but not longer than until a look is wanted, and for as long as the page is hidden. */
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

/** Calls `back` once: when the network or the reader is back, when the wait is called off, or by what it returns. */
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
