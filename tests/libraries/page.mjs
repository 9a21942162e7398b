// A page for the libraries of React: a document, and one component that calls their hooks.

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<main></main>", { url: "http://localhost" });
Object.assign(globalThis, { window, document: window.document });
// React looks for the document when it is loaded.
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");

/** Shows a component until `run` is over. `run` gets a function that waits until what the component shows fulfils a condition. */
export const show = async (App, run) => {
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
