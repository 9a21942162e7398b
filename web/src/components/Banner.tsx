// A message above the composer, until the reader dismisses it.

import type { ReactNode } from "react";
import { en } from "../en";
import { CloseIcon } from "./Icons";

interface Props {
  tone: "error" | "notice";
  onDismiss: () => void;
  children: ReactNode;
}

export function Banner({ tone, onDismiss, children }: Props) {
  return (
    <div className="banner" data-tone={tone} data-testid="banner" role={tone === "error" ? "alert" : "status"}>
      <p dir="auto">{children}</p>
      <button type="button" className="icon-button small" onClick={onDismiss} title={en.common.dismiss}>
        <CloseIcon />
        <span className="visually-hidden">{en.common.dismiss}</span>
      </button>
    </div>
  );
}
