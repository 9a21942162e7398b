/** Waits, but not longer than until the network or the reader comes back, or the wait is called off. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      document.removeEventListener("visibilitychange", onVisible);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const onVisible = () => {
      if (document.visibilityState === "visible") end();
    };
    // A little earlier or later, so that many pages do not come back in the same instant.
    const timer = setTimeout(end, ms * (0.8 + Math.random() * 0.4));
    window.addEventListener("online", end);
    document.addEventListener("visibilitychange", onVisible);
    signal.addEventListener("abort", end);
  });
}
