// The calls of a turn as lanes over its running time. A click on a tool's lane opens its card, with arguments and result. A
// click on the lane of a model call opens its figures below the lanes.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useId, useRef, useState } from "react";
import { openCards } from "../state/expansion";
import { turnWords } from "../turn/en";
import { durationText } from "../turn/status";
import type { Lane, ModelLane, Timeline, ToolLane } from "../turn/timeline";
import type { ToolEntry } from "../turn/view";
import type { CostSummary } from "../wire";
import { figuresOf, ModelCallDetails } from "./ModelCallDetails";
import { ModelRows } from "./ModelRows";
import { cardId } from "./ToolCallCard";

interface Props {
  id: string;
  timeline: Timeline;
  turnId: string;
  calls: readonly ToolEntry[];
  cost: CostSummary | null;
}

/** Also in work.css. A finger needs more room, and in a narrow window the figures have a line of their own. */
const LANE_PX = 26;
const TOUCH_LANE_PX = 44;
/** The number of lanes drawn beyond each edge. */
const OVERSCAN = 12;

export function TimelineView({ id, timeline: { lanes, span }, turnId, calls, cost }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const details = useId();
  /** The model call whose figures are open. */
  const [chosen, setChosen] = useState<string | null>(null);
  const list = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => lanes[index]?.call.id ?? index,
    estimateSize: () => (window.matchMedia("(pointer: coarse), (max-width: 34rem)").matches ? TOUCH_LANE_PX : LANE_PX),
    overscan: OVERSCAN,
  });
  const show = (call: ToolEntry) => {
    openCards(turnId, [...ancestors(call, calls), call.id], true);
    // In the next frame, after the cards have been drawn.
    requestAnimationFrame(() => {
      const card = document.getElementById(cardId(turnId, call.id));
      card?.querySelector<HTMLElement>(".tool-head")?.focus({ preventScroll: true });
      card?.scrollIntoView({ block: "center" });
    });
  };
  const opened = lanes.find((lane) => lane.kind === "model" && lane.call.id === chosen);
  return (
    <div id={id} className="timeline" data-testid="timeline">
      <div className="timeline-axis" aria-hidden="true">
        <span>0</span>
        <span>{durationText(span / 2)}</span>
        <span>{durationText(span)}</span>
      </div>
      <div ref={scroller} className="timeline-lanes" tabIndex={0} role="region" aria-label={turnWords.work.lanes}>
        <ol style={{ height: `${list.getTotalSize()}px` }}>
          {list.getVirtualItems().map(({ index, key, start }) => {
            const lane = lanes[index];
            return (
              lane && (
                <li key={key} style={{ transform: `translateY(${start}px)` }}>
                  {lane.kind === "tool" ? (
                    <ToolLaneButton lane={lane} span={span} onShow={show} />
                  ) : (
                    <ModelLaneButton
                      lane={lane}
                      span={span}
                      details={details}
                      open={lane.call.id === chosen}
                      onToggle={() => setChosen(lane.call.id === chosen ? null : lane.call.id)}
                    />
                  )}
                </li>
              )
            );
          })}
        </ol>
      </div>
      {opened?.kind === "model" && <ModelCallDetails id={details} lane={opened} />}
      <ModelRows cost={cost} />
    </div>
  );
}

function ToolLaneButton({ lane, span, onShow }: { lane: ToolLane; span: number; onShow: (call: ToolEntry) => void }) {
  const { call, from, to } = lane;
  return (
    <button
      type="button"
      className="lane"
      data-testid="lane"
      data-status={call.status}
      data-call-id={call.id}
      onClick={() => onShow(call)}
    >
      <LaneName lane={lane} name={call.title ?? call.name} />
      <Bar lane={lane} span={span} />
      <span className="lane-figures" aria-hidden="true">
        {call.durationMs !== null && durationText(call.durationMs)}
      </span>
      <span className="visually-hidden">
        {turnWords.work.lane(durationText(from), durationText(to))}
        {call.status === "error" && turnWords.work.laneFailed}
      </span>
    </button>
  );
}

interface ModelLaneProps {
  lane: ModelLane;
  span: number;
  details: string;
  open: boolean;
  onToggle: () => void;
}

function ModelLaneButton({ lane, span, details, open, onToggle }: ModelLaneProps) {
  const { call, from, to } = lane;
  const { shown, spoken } = figuresOf(call);
  return (
    <button
      type="button"
      className="lane"
      data-testid="model-lane"
      data-status={call.durationMs === null ? "running" : "done"}
      data-call-id={call.id}
      aria-expanded={open}
      aria-controls={open ? details : undefined}
      onClick={onToggle}
    >
      <LaneName lane={lane} name={call.model} />
      <Bar lane={lane} span={span} firstByteMs={call.firstByteMs} />
      <span className="lane-figures" aria-hidden="true">
        {shown}
      </span>
      <span className="visually-hidden">
        {turnWords.work.lane(durationText(from), durationText(to))}
        {turnWords.work.modelLane(spoken)}
      </span>
    </button>
  );
}

function LaneName({ lane: { depth }, name }: { lane: Lane; name: string }) {
  return (
    <span className="lane-name" style={{ paddingLeft: `${Math.min(depth, 6) * 0.75}rem` }}>
      <bdi>{name}</bdi>
    </span>
  );
}

/** The time of a call. Of a model call the time before the first word is lighter. */
function Bar({ lane: { kind, from, to }, span, firstByteMs }: { lane: Lane; span: number; firstByteMs?: number | null }) {
  const left = `${(100 * from) / span}%`;
  const width = (ms: number) => `${(100 * ms) / span}%`;
  return (
    <span className="lane-track" aria-hidden="true">
      <span className="lane-bar" data-kind={kind} style={{ left, width: width(to - from) }} />
      {firstByteMs != null && <span className="lane-wait" style={{ left, width: width(Math.min(firstByteMs, to - from)) }} />}
    </span>
  );
}

function ancestors(call: ToolEntry, calls: readonly ToolEntry[]): string[] {
  const byId = new Map(calls.map((each) => [each.id, each]));
  const above: string[] = [];
  let parent = call.parentId;
  while (parent !== null && !above.includes(parent)) {
    above.push(parent);
    parent = byId.get(parent)?.parentId ?? null;
  }
  return above;
}
