// Stands in place of a chat or page that cannot be shown: the cause, and a button for the next step.

import type { ReactNode } from "react";
import { en } from "../en";
import type { Problem } from "../state/problem";
import { Logo } from "./Logo";
import { RetryButton } from "./RetryButton";

interface Props {
  title: string;
  /** The name of the button. */
  action?: string;
  /** Its wait is counted down first. */
  problem?: Problem | null;
  onAction: () => void;
  children: ReactNode;
}

export function Unavailable({ title, action, problem = null, onAction, children }: Props) {
  return (
    <div className="unavailable">
      <Logo className="logo empty-logo" />
      <div role="alert">
        <h1>{title}</h1>
        <p>{children}</p>
      </div>
      {problem?.retry ? (
        <RetryButton problem={problem} className="primary-button" />
      ) : (
        <button type="button" className="primary-button" onClick={onAction}>
          {action ?? en.common.tryAgain}
        </button>
      )}
    </div>
  );
}
