import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { startPage } from "./state/page";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/status.css";
import "./styles/transcript.css";
import "./styles/prose.css";
import "./styles/empty.css";
import "./styles/cards.css";
import "./styles/work.css";
import "./styles/composer.css";
import "./styles/dialog.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has lost its #root");
void startPage();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
