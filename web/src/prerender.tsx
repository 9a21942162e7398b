// The first screen as a text, for index.html: it is seen before any script has come. Used when the page is built.

import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { App } from "./App";

export function firstScreen(): string {
  return renderToString(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
