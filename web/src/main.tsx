import { startTransition, StrictMode } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { App } from "./App";
import { COMPOSER_ID } from "./components/focus";
import "./features";
import { loadChatStates } from "./state/chatStates";
import { choices } from "./state/choices";
import { loadDrafts } from "./state/drafts";
import { listen, startPage } from "./state/page";
import { loadSettings } from "./state/settings";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/sidebar.css";
import "./styles/layout.css";
import "./styles/status.css";
import "./styles/transcript.css";
import "./styles/prose.css";
import "./styles/empty.css";
import "./styles/cards.css";
import "./styles/work.css";
import "./styles/composer.css";
import "./styles/dialog.css";
import "./styles/touch.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has lost its #root");
const box = document.getElementById(COMPOSER_ID);
for (const choice of choices()) choice.load();
loadSettings();
loadChatStates();
loadDrafts(box instanceof HTMLTextAreaElement ? box.value : "");
listen();
void startPage();
const app = (
  <StrictMode>
    <App />
  </StrictMode>
);
// `vite dev` serves no first screen. A transition draws in small steps, between which the browser handles input.
if (root.hasChildNodes()) startTransition(() => void hydrateRoot(root, app));
else createRoot(root).render(app);
