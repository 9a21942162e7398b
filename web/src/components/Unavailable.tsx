// In place of what cannot be shown: what happened, and the one thing to do about it.

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
