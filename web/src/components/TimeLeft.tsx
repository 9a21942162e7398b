// The time left for a decision.

import { timeLeft } from "../turn/approval";
import { useNow } from "./useNow";

export function TimeLeft({ expiresAt }: { expiresAt: number }) {
  const now = useNow(true);
  return (
    <span className="approval-left" data-testid="approval-left">
      {timeLeft(expiresAt, now)}
    </span>
  );
}
