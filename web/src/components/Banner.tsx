// A message above the composer, until the reader dismisses it.

import type { ReactNode } from "react";
import { en } from "../en";
import type { Problem } from "../state/problem";
import { focusComposer } from "./focus";
import { CloseIcon } from "./Icons";
import { RetryButton } from "./RetryButton";

interface Props {
  tone: "error" | "notice";
  problem?: Problem;
  onDismiss: () => void;
  children: ReactNode;
}

export function Banner({ tone, problem, onDismiss, children }: Props) {
  const dismiss = () => {
    onDismiss();
    focusComposer();
  };
  return (
    <div className="banner" data-tone={tone} data-testid="banner">
      <p dir="auto" role={tone === "error" ? "alert" : "status"}>
        {children}
      </p>
      {problem && <RetryButton problem={problem} />}
      <button type="button" className="icon-button small" onClick={dismiss} title={en.common.dismiss}>
        <CloseIcon />
        <span className="visually-hidden">{en.common.dismiss}</span>
      </button>
    </div>
  );
}
