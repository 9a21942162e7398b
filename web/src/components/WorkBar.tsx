// The line above an answer that used tools. It says how much work the answer took, and unfolds it: then it has the timeline, and
// buttons that open or close all cards.

import { useId, useState } from "react";
import { openCards } from "../state/expansion";
import { fetchPart } from "../state/page";
import { timelineView } from "../state/parts";
import { turnWords } from "../turn/en";
import { durationText, money, secondsText } from "../turn/status";
import { timelineOf } from "../turn/timeline";
import { callsIn, isSubtask, type TurnView } from "../turn/view";
import { ChevronIcon, CollapseIcon, ExpandIcon, LanesIcon } from "./Icons";
import { useTurnFrame } from "./TurnContext";
import { useRunningMs } from "./useNow";

interface Props {
  view: TurnView;
  /** The cards of the work are shown. */
  open: boolean;
  onToggle: (open: boolean) => void;
}

export function WorkBar({ view, open, onToggle }: Props) {
  const { turnId, clock } = useTurnFrame();
  const [lanes, setLanes] = useState(false);
  const panel = useId();
  const TimelineView = timelineView.use(lanes);
  const running = clock !== null && view.finishReason === null;
  const runningMs = useRunningMs(clock, running);
  const timeline = timelineOf(view, running ? runningMs : 0);
  const calls = callsIn(view);
  const subtasks = calls.filter(isSubtask).length;
  const cost = view.cost?.cost_usd ? money(view.cost.cost_usd) : null;
  const time = running ? secondsText(runningMs) : timeline && durationText(timeline.span);
  const setAll = (value: boolean) => openCards(turnId, calls.map((call) => call.id), value);
  return (
    <div className="work" data-testid="work">
      <div className="work-bar">
        <button type="button" className="work-fold" data-testid="work-toggle" aria-expanded={open} onClick={() => onToggle(!open)}>
          <ChevronIcon />
          <span className="work-words">{turnWords.work.summary(running, time, calls.length - subtasks, subtasks, cost)}</span>
        </button>
        {open && timeline && (
          <button
            type="button"
            className="work-button"
            data-testid="timeline-toggle"
            aria-expanded={lanes}
            aria-controls={lanes && TimelineView ? panel : undefined}
            onClick={() => {
              setLanes(!lanes);
              fetchPart(timelineView, () => setLanes(false));
            }}
          >
            <LanesIcon />
            <span>{turnWords.work.timeline}</span>
          </button>
        )}
        {open && (
          <>
            <button type="button" className="work-button" data-testid="expand-all" onClick={() => setAll(true)}>
              <ExpandIcon />
              <span>{turnWords.work.expandAll}</span>
            </button>
            <button type="button" className="work-button" data-testid="collapse-all" onClick={() => setAll(false)}>
              <CollapseIcon />
              <span>{turnWords.work.collapseAll}</span>
            </button>
          </>
        )}
      </div>
      {open && lanes && timeline && TimelineView && <TimelineView id={panel} timeline={timeline} turnId={turnId} calls={calls} cost={view.cost} />}
    </div>
  );
}
