// A call that the reader must allow before it runs.

import { useState } from "react";
import { en } from "../en";
import { conversation } from "../state/page";
import type { Approval } from "../turn/view";
import type { Decision } from "../wire";
import { focusComposer } from "./focus";
import { Named } from "./Named";

const CHOICES = ["approve", "approve_for_thread", "deny"] as const satisfies Decision[];

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
    // The card disappears with its button.
    focusComposer();
  };
  if (decision !== null) {
    return (
      <p className="approval-decided" data-testid="approval-decided" data-decision={decision}>
        <Named name={name}>{en.approval.decided[decision](name)}</Named>
      </p>
    );
  }
  return (
    <section className="approval" data-testid="approval" aria-label={en.approval.ask(name)}>
      <h3>
        <Named name={name}>{en.approval.ask(name)}</Named>
      </h3>
      <pre className="tool-result" tabIndex={0}>
        {wholly(args)}
      </pre>
      <div className="approval-choices">
        {CHOICES.map((choice) => (
          <button
            key={choice}
            type="button"
            disabled={busy}
            data-decision={choice}
            onClick={() => void decide(choice)}
          >
            {en.approval.choices[choice]}
          </button>
        ))}
      </div>
    </section>
  );
}
