// The keys of the whole page. The settings list them.

import { useEffect, useState } from "react";
import { openFind } from "../state/finding";
import { conversation, goTo } from "../state/page";
import { COMPOSER_ID, focusComposer } from "./focus";
import { SEARCH_ID } from "./Sidebar";

/** From this width on the window has room for the sidebar. Also in layout.css. */
const WIDE = "(min-width: 52rem)";

/** Lies above the page, and is closed by Escape first. */
const ABOVE = ":popover-open, dialog:modal";

/** Whether the sidebar is open as a drawer. Escape and a window with room for the sidebar close it. */
export function useDrawer() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open) return;
    const close = () => setOpen(false);
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector(ABOVE)) return;
      event.preventDefault();
      close();
    };
    const wide = window.matchMedia(WIDE);
    window.addEventListener("keydown", onKey);
    wide.addEventListener("change", close);
    return () => {
      window.removeEventListener("keydown", onKey);
      wide.removeEventListener("change", close);
    };
  }, [open]);
  return [open, setOpen] as const;
}

export function useKeys(setMenuOpen: (open: boolean) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing || document.querySelector("dialog:modal")) return;
      const command = event.ctrlKey || event.metaKey;
      const field = (event.target as Element).closest("input, textarea, select");
      const writing = field !== null;
      // In another field the key means that field: it must not stop the answer.
      const elsewhere = writing && field.id !== COMPOSER_ID;
      if (command && event.key.toLowerCase() === "k") {
        event.preventDefault();
        if (!window.matchMedia(WIDE).matches) setMenuOpen(true);
        // On a narrow window the box can take the focus only after the drawer has appeared.
        requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
      } else if (command && event.key.toLowerCase() === "f" && document.querySelector(".long-list")) {
        // The browser's own search misses what a long chat does not draw.
        event.preventDefault();
        openFind();
      } else if (command && event.shiftKey && event.key.toLowerCase() === "o") {
        event.preventDefault();
        goTo(null);
        focusComposer();
      } else if (event.key === "Escape" && !elsewhere && !event.defaultPrevented && document.querySelector(`${ABOVE}, .sidebar[data-open=true]`) === null) {
        void conversation.stop();
      } else if (event.key === "/" && !command && !writing) {
        event.preventDefault();
        document.getElementById(COMPOSER_ID)?.focus();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [setMenuOpen]);
}
