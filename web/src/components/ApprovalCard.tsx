// A call that the agent may make only if the reader allows it.

import { useState } from "react";
import { conversation } from "../state/page";
import type { Approval } from "../turn/view";
import type { Decision } from "../wire";

const CHOICES: { decision: Decision; label: string }[] = [
  { decision: "approve", label: "Allow once" },
  { decision: "approve_for_thread", label: "Allow in this chat" },
  { decision: "deny", label: "Do not allow" },
];

export function ApprovalCard({ approval }: { approval: Approval }) {
  const [busy, setBusy] = useState(false);
  const decide = async (decision: Decision) => {
    setBusy(true);
    await conversation.decide(approval.id, decision);
    setBusy(false);
  };
  return (
    <section className="approval" data-testid="approval" aria-label={`May ${approval.name} run?`}>
      <h3>
        May <code>{approval.name}</code> run?
      </h3>
      <pre className="tool-result" tabIndex={0}>
        {JSON.stringify(approval.args, null, 2)}
      </pre>
      <div className="approval-choices">
        {CHOICES.map(({ decision, label }) => (
          <button key={decision} type="button" disabled={busy} onClick={() => void decide(decision)}>
            {label}
          </button>
        ))}
      </div>
    </section>
  );
}
