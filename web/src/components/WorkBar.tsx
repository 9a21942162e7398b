// The bar above an answer that used tools: the number of calls, the timeline, and buttons that open or close all cards.

import { useId, useState } from "react";
import { openCards } from "../state/expansion";
import { fetchPart } from "../state/page";
import { timelineView } from "../state/parts";
import { turnWords } from "../turn/en";
import { secondsText, durationText } from "../turn/status";
import { timelineOf } from "../turn/timeline";
import { callsIn, isSubtask, type TurnView } from "../turn/view";
import { CollapseIcon, ExpandIcon, LanesIcon } from "./Icons";
import { useTurnFrame } from "./TurnContext";
import { useRunningMs } from "./useNow";

export function WorkBar({ view }: { view: TurnView }) {
  const { turnId, clock } = useTurnFrame();
  const [lanes, setLanes] = useState(false);
  const panel = useId();
  const TimelineView = timelineView.use(lanes);
  const running = clock !== null && view.finishReason === null;
  const runningMs = useRunningMs(clock, running);
  const timeline = timelineOf(view, running ? runningMs : 0);
  const calls = callsIn(view);
  const open = calls.filter((call) => call.status === "running").length;
  const setAll = (value: boolean) => openCards(turnId, calls.map((call) => call.id), value);
  return (
    <div className="work" data-testid="work">
      <div className="work-bar">
        <p className="work-words">
          {turnWords.work.calls(calls.length, calls.filter(isSubtask).length)}
          {timeline && (
            <>
              {" · "}
              {running && open > 0 ? turnWords.work.running(open, secondsText(runningMs)) : durationText(timeline.span)}
            </>
          )}
        </p>
        {timeline && (
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
        <button type="button" className="work-button" data-testid="expand-all" onClick={() => setAll(true)}>
          <ExpandIcon />
          <span>{turnWords.work.expandAll}</span>
        </button>
        <button type="button" className="work-button" data-testid="collapse-all" onClick={() => setAll(false)}>
          <CollapseIcon />
          <span>{turnWords.work.collapseAll}</span>
        </button>
      </div>
      {lanes && timeline && TimelineView && <TimelineView id={panel} timeline={timeline} turnId={turnId} calls={calls} cost={view.cost} />}
    </div>
  );
}
