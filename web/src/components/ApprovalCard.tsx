// A call that the reader must allow before it runs.

import { useState } from "react";
import { en } from "../en";
import { conversation } from "../state/page";
import { effectOf, visibly } from "../turn/approval";
import type { Approval } from "../turn/view";
import type { Decision } from "../wire";
import { focusComposer } from "./focus";
import { Named } from "./Named";
import { TimeLeft } from "./TimeLeft";

const CHOICES = ["approve", "approve_for_thread", "deny"] as const satisfies Decision[];

export function ApprovalCard({ approval }: { approval: Approval }) {
  const { id, name, args, decision } = approval;
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
      <p data-testid="approval-effect">{effectOf(approval)}</p>
      <p className="tool-label">{en.approval.arguments}</p>
      <pre className="tool-result" tabIndex={0} dir="ltr">
        {visibly(JSON.stringify(args, null, 2))}
      </pre>
      <div className="approval-choices">
        {CHOICES.map((choice) => (
          <button
            key={choice}
            type="button"
            className={choice === "approve" ? "primary-button small" : "quiet-button"}
            disabled={busy}
            data-decision={choice}
            onClick={() => void decide(choice)}
          >
            {en.approval.choices[choice]}
          </button>
        ))}
        <TimeLeft expiresAt={approval.expiresAt} />
      </div>
    </section>
  );
}
