// A call that the reader must allow before it runs.

import { useState } from "react";
import { conversation } from "../state/page";
import type { Approval } from "../turn/view";
import type { Decision } from "../wire";
import { COMPOSER_ID } from "./Composer";

const CHOICES: { decision: Decision; label: string }[] = [
  { decision: "approve", label: "Allow once" },
  { decision: "approve_for_thread", label: "Allow in this chat" },
  { decision: "deny", label: "Do not allow" },
];

const DECIDED: Record<Decision, string> = {
  approve: "was allowed once.",
  approve_for_thread: "was allowed in this chat.",
  deny: "was not allowed.",
  expired: "was not allowed in time.",
};

/** The arguments with invisible characters written out, such as marks that reverse the order of letters. */
function wholly(args: unknown): string {
  const written = (letter: string) => `\\u{${letter.codePointAt(0)?.toString(16)}}`;
  return JSON.stringify(args, null, 2).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, written);
}

export function ApprovalCard({ approval: { id, name, args, decision } }: { approval: Approval }) {
  const [busy, setBusy] = useState(false);
  const decide = async (chosen: Decision) => {
    setBusy(true);
    await conversation.decide(id, chosen);
    setBusy(false);
    // The card disappears with its button, so the keyboard goes on in the composer.
    document.getElementById(COMPOSER_ID)?.focus();
  };
  if (decision !== null) {
    return (
      <p className="approval-decided" data-testid="approval-decided" data-decision={decision}>
        <code>{name}</code> {DECIDED[decision]}
      </p>
    );
  }
  return (
    <section className="approval" data-testid="approval" aria-label={`May ${name} run?`}>
      <h3>
        May <code>{name}</code> run?
      </h3>
      <pre className="tool-result" tabIndex={0}>
        {wholly(args)}
      </pre>
      <div className="approval-choices">
        {CHOICES.map((choice) => (
          <button
            key={choice.decision}
            type="button"
            disabled={busy}
            data-decision={choice.decision}
            onClick={() => void decide(choice.decision)}
          >
            {choice.label}
          </button>
        ))}
      </div>
    </section>
  );
}
