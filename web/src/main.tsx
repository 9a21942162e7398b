import { startTransition, StrictMode } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { App } from "./App";
import { COMPOSER_ID } from "./components/Composer";
import { chosen } from "./state/chosen";
import { loadDrafts } from "./state/drafts";
import { listen, startPage } from "./state/page";
import { subjects } from "./state/subject";
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
const box = document.getElementById(COMPOSER_ID);
chosen.load();
subjects.load();
loadDrafts(box instanceof HTMLTextAreaElement ? box.value : "");
listen();
void startPage();
const app = (
  <StrictMode>
    <App />
  </StrictMode>
);
// `vite dev` serves no first screen. In a transition: in small steps, between which the browser may answer the hand.
if (root.hasChildNodes()) startTransition(() => void hydrateRoot(root, app));
else createRoot(root).render(app);
