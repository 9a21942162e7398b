// A page for the libraries of React: a document, and one component that calls their hooks.

import { JSDOM } from "jsdom";
import { TOO_LONG, play, release, said, taken } from "./common.mjs";

const { window } = new JSDOM("<main></main>", { url: "http://localhost" });
Object.assign(globalThis, { window, document: window.document });
// React looks for the document when it is loaded.
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");

/** Shows a component until `run` is over. `run` gets a function that waits until what the component shows fulfils a condition. */
const show = async (App, run) => {
  let shown;
  const waiting = new Set();
  const onShow = (value) => {
    shown = value;
    for (const look of waiting) look();
  };
  const until = (holds) => new Promise((resolve) => {
    const look = () => {
      if (!shown || !holds(shown)) return;
      waiting.delete(look);
      resolve(shown);
    };
    waiting.add(look);
    look();
  });
  const root = createRoot(window.document.querySelector("main"));
  root.render(createElement(App, { onShow }));
  try {
    return await run(until);
  } finally {
    root.unmount();
  }
};

/** Plays the conversation on a page. `app` makes its component, `ask` sends a message and waits for the end of its answer, `text`
 * is the newest answer, and `described` is the failure of an answer, if it failed. */
export const playOnPage = async ({ app, ask, text, described }) => {
  const refusal = (given) => show(app(given), async (until) => described(await ask(until, "Hello")) ?? "not refused");
  let both;
  /** Two turns of one chat. */
  const conversation = () => both ??= show(app(), async (until) => {
    const booked = text(await ask(until, said.tool));
    return { tool: { text: booked, calls: taken() }, second: text(await ask(until, said.second)) };
  });
  await play({
    plain: () => show(app(), async (until) => text(await ask(until, said.plain))),
    streamed: () => show(app(), async (until) => {
      const answered = ask(until, said.streamed);
      await until((shown) => text(shown) === "One ");
      await release();
      return text(await answered);
    }),
    tool: async () => (await conversation()).tool,
    second: async () => (await conversation()).second,
    streamedCalls: () => show(app(), async (until) => ({ text: text(await ask(until, said.streamedCalls)), calls: taken() })),
    unauthorized: () => refusal({ bearer: "espk_wrong" }),
    tooLong: () => refusal({ system: TOO_LONG }),
  });
};
