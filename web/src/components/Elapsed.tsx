import { durationText, secondsText } from "../turn/status";
import type { ToolEntry } from "../turn/view";
import { useTurnFrame } from "./TurnContext";
import { useRunningMs } from "./useNow";

/** A call's duration, or its running time so far. */
export function Elapsed({ call }: { call: ToolEntry }) {
  const { clock } = useTurnFrame();
  const counting = call.status === "running" && clock !== null && call.startedMs !== null;
  const runningMs = useRunningMs(clock, counting);
  if (call.durationMs !== null) return <span data-testid="elapsed">{durationText(call.durationMs)}</span>;
  if (!counting) return null;
  return <span data-testid="elapsed">{secondsText(runningMs - (call.startedMs ?? 0))}</span>;
}
