// `@microsoft/fetch-event-source`, which is written for browsers.

// It needs these two even without a use for them: it clears a timer, and removes a listener from a document.
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
