// The turn's status, above the composer's edge: there it moves nothing when its words change. On a click it also shows the
// turn's use of its limits.

import { useId, useLayoutEffect, useRef, useState } from "react";
import { en } from "../en";
import type { TurnClock } from "../state/clock";
import { budgetLines, fractionOf, fullest, type BudgetLine } from "../turn/budget";
import { durationText, secondsText, type Status } from "../turn/status";
import type { TurnView } from "../turn/view";
import { placeBeside } from "./Menu";
import { useRunningMs } from "./useNow";

interface Props {
  status: Status;
  /** The running turn; null if no turn runs. */
  turn: { view: TurnView; clock: TurnClock } | null;
}

export function StatusChip({ status, turn }: Props) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const details = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (open && details.current && button.current) placeBeside(details.current, button.current);
  }, [open]);
  return (
    <>
      <button
        ref={button}
        type="button"
        className="status-chip"
        data-testid="status-chip"
        data-state={status.key}
        hidden={status.key === "idle"}
        popoverTarget={id}
        aria-expanded={open}
        title={status.label}
      >
        <span className="status-dot" aria-hidden="true" />
        <span className="status-label">{status.label}</span>
      </button>
      <span className="visually-hidden" role="status">
        {status.label}
      </span>
      <div
        ref={details}
        id={id}
        className="status-details"
        data-testid="status-details"
        popover="auto"
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {open && <Details status={status} turn={turn} />}
      </div>
    </>
  );
}

/** A thin line under the top bar: the fraction of the limit that the turn will reach first. */
export function BudgetBar({ turn: { view, clock } }: { turn: NonNullable<Props["turn"]> }) {
  const lines = budgetLines(view, useRunningMs(clock));
  if (lines.length === 0) return null;
  const used = fullest(lines);
  return (
    <div
      className="budget-bar"
      data-testid="budget-bar"
      data-near={used >= 0.8}
      role="progressbar"
      aria-label={en.status.usedLimits}
      aria-valuenow={Math.round(100 * used)}
    >
      <span style={{ transform: `scaleX(${used})` }} />
    </div>
  );
}

function Details({ status, turn }: Props) {
  const runningMs = useRunningMs(turn?.clock ?? null);
  if (!turn) return <p>{status.words ?? en.status.noTurn}</p>;
  return (
    <>
      <p>{status.words ?? status.label}</p>
      <dl className="budget-lines">
        {budgetLines(turn.view, runningMs).map((line) => (
          <div key={line.label}>
            <dt>{line.label}</dt>
            <dd>{usedText(line)}</dd>
            <span className="budget-meter" aria-hidden="true">
              <span style={{ transform: `scaleX(${fractionOf(line)})` }} />
            </span>
          </div>
        ))}
      </dl>
    </>
  );
}

function usedText({ used, limit, time }: BudgetLine): string {
  return time ? en.status.usedOf(secondsText(used), durationText(limit)) : en.status.usedOf(used, limit);
}
