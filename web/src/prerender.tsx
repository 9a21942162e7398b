// Draws the first screen as HTML when the page is built. index.html contains it, so that it is seen before the script has
// come.

import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { App } from "./App";
import "./features";

export function firstScreen(): string {
  return renderToString(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
