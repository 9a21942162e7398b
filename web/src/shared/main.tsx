// The public page of a share link: a snapshot of a conversation, for everybody who has the link. It needs no session, and
// asks the service for nothing but the snapshot.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { SharedPage } from "./SharedPage";
import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/prose.css";
import "./shared.css";

const root = document.getElementById("shared");
if (!root) throw new Error("shared.html has lost its #shared");
createRoot(root).render(
  <StrictMode>
    <SharedPage token={window.location.pathname.split("/").at(-1) ?? ""} />
  </StrictMode>,
);
