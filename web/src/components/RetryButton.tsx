// Tries again what failed. Where the service asked to wait, the button counts the seconds down first.

import { en } from "../en";
import type { Problem } from "../state/problem";
import { COMPOSER_ID, focusNext } from "./focus";
import { useNow } from "./useNow";

interface Props {
  problem: Problem;
  className?: string;
}

export function RetryButton({ problem: { retry, retryAt }, className = "link-button" }: Props) {
  useNow(retryAt !== null && retryAt > Date.now());
  if (retry === null) return null;
  const again = () => {
    retry();
    // The button is gone when it succeeds.
    focusNext(() => document.getElementById(COMPOSER_ID));
  };
  const left = retryAt === null ? 0 : Math.ceil((retryAt - Date.now()) / 1000);
  return (
    <button type="button" className={className} data-testid="retry" disabled={left > 0} onClick={again}>
      {left > 0 ? en.common.tryAgainIn(left) : en.common.tryAgain}
    </button>
  );
}
