// `@microsoft/fetch-event-source`, which is written for browsers.

// It asks for these two even where they have nothing to do: it clears a timer, and forgets to listen to a document.
globalThis.window = globalThis;
globalThis.document = { removeEventListener() {} };

const { fetchEventSource } = await import("@microsoft/fetch-event-source");
const { BASE, openSession, question, report } = await import("./common.mjs");

const cookie = await openSession();
const frames = [];
await fetchEventSource(`${BASE}/api/chat`, {
  ...question(cookie),
  openWhenHidden: true,
  onmessage(frame) {
    // A comment, such as the heartbeat, comes as a message without data.
    if (frame.data !== "") frames.push(frame);
  },
  onerror(error) {
    throw error;
  },
});
report(cookie, frames);
