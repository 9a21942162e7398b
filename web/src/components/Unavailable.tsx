// Stands in place of a chat or page that cannot be shown: the cause, and a button for the next step.

import type { ReactNode } from "react";
import { Logo } from "./Logo";

interface Props {
  title: string;
  action: string;
  onAction: () => void;
  children: ReactNode;
}

export function Unavailable({ title, action, onAction, children }: Props) {
  return (
    <div className="unavailable" role="alert">
      <Logo className="logo empty-logo" />
      <h1>{title}</h1>
      <p>{children}</p>
      <button type="button" className="primary-button" onClick={onAction}>
        {action}
      </button>
    </div>
  );
}
