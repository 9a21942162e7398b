// A quiet line that opens details: reasoning, a subtask's instructions.

import { useId, useState, type ReactNode } from "react";
import { ChevronIcon } from "./Icons";

interface Props {
  label: string;
  busy?: boolean;
  children: ReactNode;
}

export function Disclosure({ label, busy = false, children }: Props) {
  const [open, setOpen] = useState(false);
  const bodyId = useId();
  return (
    <div className="disclosure" data-busy={busy}>
      <button
        type="button"
        className="disclosure-toggle"
        aria-expanded={open}
        aria-controls={open ? bodyId : undefined}
        onClick={() => setOpen(!open)}
      >
        <ChevronIcon />
        <span>{label}</span>
      </button>
      {open && (
        <div id={bodyId} className="disclosure-body">
          {children}
        </div>
      )}
    </div>
  );
}
