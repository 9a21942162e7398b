// The answers that a person can give to a turn that waits for one, and the time left for it.

import { useState } from "react";
import { conversation } from "../state/page";
import type { Decision } from "../wire";
import { focusComposer } from "./focus";
import { TimeLeft } from "./TimeLeft";

/** `choices`: the words of each answer. The first one is the primary button. */
export function Choices({ id, choices, expiresAt }: { id: string; choices: Partial<Record<Decision, string>>; expiresAt: number }) {
  const [busy, setBusy] = useState(false);
  const decide = async (chosen: Decision) => {
    setBusy(true);
    await conversation.decide(id, chosen);
    setBusy(false);
    // The card disappears with its button.
    focusComposer();
  };
  return (
    <div className="approval-choices">
      {(Object.keys(choices) as Decision[]).map((choice, index) => (
        <button
          key={choice}
          type="button"
          className={index === 0 ? "primary-button small" : "quiet-button"}
          disabled={busy}
          data-decision={choice}
          onClick={() => void decide(choice)}
        >
          {choices[choice]}
        </button>
      ))}
      <TimeLeft expiresAt={expiresAt} />
    </div>
  );
}
