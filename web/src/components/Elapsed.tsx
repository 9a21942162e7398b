import { durationText, secondsText } from "../turn/status";
import type { ToolEntry } from "../turn/view";
import { useTurnFrame } from "./TurnContext";
import { useNow } from "./useNow";

/** How long a call took, or has been taking so far. */
export function Elapsed({ call }: { call: ToolEntry }) {
  const { since } = useTurnFrame();
  const counting = call.status === "running" && since !== null && call.startedMs !== null;
  const now = useNow(counting);
  if (call.durationMs !== null) return <span data-testid="elapsed">{durationText(call.durationMs)}</span>;
  if (!counting) return null;
  return <span data-testid="elapsed">{secondsText(now - since - (call.startedMs ?? 0))}</span>;
}
