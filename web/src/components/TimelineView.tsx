// The calls of a turn as lanes over its running time, and the models that it asked. A click on a lane opens its card, with
// arguments and result.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { en } from "../en";
import { openCards } from "../state/expansion";
import { durationText } from "../turn/status";
import type { Lane, Timeline } from "../turn/timeline";
import type { ToolEntry } from "../turn/view";
import type { CostSummary } from "../wire";
import { ModelRows } from "./ModelRows";
import { cardId } from "./ToolCallCard";

interface Props {
  id: string;
  timeline: Timeline;
  turnId: string;
  calls: readonly ToolEntry[];
  cost: CostSummary | null;
}

/** Also in work.css. A finger needs more room. */
const LANE_PX = 26;
const TOUCH_LANE_PX = 44;
/** The number of lanes drawn beyond each edge. */
const OVERSCAN = 12;

export function TimelineView({ id, timeline: { lanes, span }, turnId, calls, cost }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => lanes[index]?.call.id ?? index,
    estimateSize: () => (window.matchMedia("(pointer: coarse)").matches ? TOUCH_LANE_PX : LANE_PX),
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
  return (
    <div id={id} className="timeline" data-testid="timeline">
      <div className="timeline-axis" aria-hidden="true">
        <span>0</span>
        <span>{durationText(span / 2)}</span>
        <span>{durationText(span)}</span>
      </div>
      <div ref={scroller} className="timeline-lanes" tabIndex={0} role="region" aria-label={en.work.lanes}>
        <ol style={{ height: `${list.getTotalSize()}px` }}>
          {list.getVirtualItems().map(({ index, key, start }) => {
            const lane = lanes[index];
            return (
              lane && (
                <li key={key} style={{ transform: `translateY(${start}px)` }}>
                  <LaneButton lane={lane} span={span} onShow={show} />
                </li>
              )
            );
          })}
        </ol>
      </div>
      <ModelRows cost={cost} />
    </div>
  );
}

function LaneButton({ lane: { call, from, to }, span, onShow }: { lane: Lane; span: number; onShow: (call: ToolEntry) => void }) {
  return (
    <button
      type="button"
      className="lane"
      data-testid="lane"
      data-status={call.status}
      data-call-id={call.id}
      onClick={() => onShow(call)}
    >
      <span className="lane-name" style={{ paddingLeft: `${Math.min(call.depth, 6) * 0.75}rem` }}>
        <bdi>{call.title ?? call.name}</bdi>
      </span>
      <span className="lane-track" aria-hidden="true">
        <span
          className="lane-bar"
          style={{ left: `${(100 * from) / span}%`, width: `${(100 * (to - from)) / span}%` }}
        />
      </span>
      <span className="visually-hidden">
        {en.work.lane(durationText(from), durationText(to))}
        {call.status === "error" && en.work.laneFailed}
      </span>
    </button>
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
