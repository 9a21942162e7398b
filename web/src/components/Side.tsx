// A dialog for panels. In a wide window it stands beside the chat; in a narrow one it is modal and lies over the chat.

import { useEffect, useId, useRef, type MouseEvent, type PointerEvent, type ReactNode } from "react";
import { en } from "../en";
import { CloseIcon } from "./Icons";
import "../styles/side.css";

interface Props {
  title: string;
  testId: string;
  onClose: () => void;
  children: ReactNode;
}

/** Closes a modal dialog by a click on its backdrop, which has the dialog itself as its target. A press that begins within the
    dialog selects text, and may end on the backdrop. */
export function useBackdrop(close: () => void) {
  const pressed = useRef(false);
  return {
    onPointerDown: ({ target, currentTarget }: PointerEvent) => {
      pressed.current = target === currentTarget;
    },
    onClick: ({ target, currentTarget }: MouseEvent) => {
      if (pressed.current && target === currentTarget && currentTarget.matches(":modal")) close();
    },
  };
}

/** Also in side.css. */
const WIDE = "(min-width: 76rem)";

export function Side({ title, testId, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const shown = dialog.current;
    if (!shown) return;
    const wide = window.matchMedia(WIDE);
    const show = () => {
      const writing = document.activeElement?.closest<HTMLElement>("input, textarea");
      shown.close();
      if (!wide.matches) return shown.showModal();
      shown.show();
      // The person may have begun to write while the chunk was on its way: they keep the focus.
      writing?.focus();
    };
    show();
    wide.addEventListener("change", show);
    return () => {
      wide.removeEventListener("change", show);
      shown.close();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="side"
      data-testid={testId}
      aria-labelledby={heading}
      // The event comes late: the dialog may be open again in the other mode.
      onClose={() => !dialog.current?.open && onClose()}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        // The same key stops the answer elsewhere.
        event.preventDefault();
        dialog.current?.close();
      }}
      {...useBackdrop(onClose)}
    >
      <div className="side-box">
        <header className="side-head">
          <h2 id={heading} dir="auto">
            {title}
          </h2>
          <button type="button" className="icon-button" onClick={onClose} title={en.common.close}>
            <CloseIcon />
            <span className="visually-hidden">{en.common.closePart(title)}</span>
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
