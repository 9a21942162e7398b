// A button for an act that cannot be undone. It asks first, in its own place.

import { useEffect, useRef, useState, type ReactNode } from "react";
import { en } from "../en";
import { focusNext, neighbour } from "./focus";

interface Props {
  /** The name of the button. */
  label: string;
  question: string;
  /** The name of the button that confirms. */
  yes: string;
  className?: string;
  testId?: string;
  act: () => void | Promise<void>;
  /** An icon that stands for the label. */
  children?: ReactNode;
}

export function Confirm({ label, question, yes, className = "icon-button small", testId, act, children }: Props) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const group = useRef<HTMLDivElement>(null);
  const asked = useRef(false);
  // The focus comes back to the button after the question.
  useEffect(() => {
    if (asked.current && !asking) button.current?.focus();
    asked.current = asking;
  }, [asking]);
  if (!asking) {
    return (
      <button ref={button} type="button" className={className} data-testid={testId} title={label} onClick={() => setAsking(true)}>
        {children ?? label}
        {children && <span className="visually-hidden">{label}</span>}
      </button>
    );
  }
  return (
    <div
      ref={group}
      className="confirm"
      role="group"
      aria-label={question}
      onKeyDown={(event) => {
        // The key that opened the question may still be held down. It must not confirm.
        if (event.repeat) event.preventDefault();
        if (event.key !== "Escape") return;
        event.preventDefault();
        setAsking(false);
      }}
    >
      <span dir="auto">{question}</span>
      <button
        type="button"
        className="danger-button"
        data-testid="confirm"
        autoFocus
        disabled={busy}
        onClick={async () => {
          const row = group.current?.closest("li");
          const next = neighbour(row);
          const around = group.current?.closest("dialog");
          setBusy(true);
          await act();
          setBusy(false);
          setAsking(false);
          // The row may be gone with the button.
          focusNext(() => next?.querySelector<HTMLElement>("button") ?? around?.querySelector<HTMLElement>("button"));
        }}
      >
        {yes}
      </button>
      <button type="button" className="quiet-button" disabled={busy} onClick={() => setAsking(false)}>
        {en.common.keep}
      </button>
    </div>
  );
}

/** The same in the foot of a list or a page. `yes`: the name of the button itself where there is none. */
export function ConfirmLink({ yes, ...act }: Omit<Props, "yes" | "className" | "children"> & { yes?: string }) {
  return <Confirm {...act} yes={yes ?? act.label} className="link-button danger" />;
}
