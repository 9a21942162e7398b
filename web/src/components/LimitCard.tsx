// A limit that the answer would cross: the reader allows it the same budget once more, or ends the answer.

import { useState } from "react";
import { en } from "../en";
import { conversation } from "../state/page";
import { costParts, limitText } from "../turn/status";
import type { LimitRequest } from "../turn/view";
import type { Decision } from "../wire";
import { focusComposer } from "./focus";
import { TimeLeft } from "./TimeLeft";

const CHOICES = ["approve", "deny"] as const satisfies Decision[];

export function LimitCard({ request }: { request: LimitRequest }) {
  const { id, reason, limit, raisedTo, grantsLeft, usage, expiresAt, decision } = request;
  const [busy, setBusy] = useState(false);
  const decide = async (chosen: Decision) => {
    setBusy(true);
    await conversation.decide(id, chosen);
    setBusy(false);
    // The card disappears with its button.
    focusComposer();
  };
  const more = limitText(reason, raisedTo);
  if (decision !== null) {
    const { approve, deny, expired } = en.limit.decided;
    const words = decision === "approve" ? approve(more) : decision === "expired" ? expired : deny;
    return (
      <p className="approval-decided" data-testid="limit-decided" data-decision={decision}>
        {words}
      </p>
    );
  }
  const title = en.limit.ask(limitText(reason, limit));
  return (
    <section className="approval" data-testid="limit-request" aria-label={title}>
      <h3>{title}</h3>
      <p>{en.limit.used(costParts(usage))}</p>
      <p>
        {en.limit.gives(more)} {en.limit.times(grantsLeft)}
      </p>
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
            {en.limit.choices[choice]}
          </button>
        ))}
        <TimeLeft expiresAt={expiresAt} />
      </div>
    </section>
  );
}
