// The calls of a turn over its running time, those of tools and of models: one lane for each, in the order of the tree. A
// stored turn has the same timeline as the live one.

import { childrenOf, outlineOf } from "./outline";
import { callsIn, type ModelCall, type ToolEntry, type TurnView } from "./view";

interface Place {
  /** Milliseconds from the beginning of the first call. */
  from: number;
  to: number;
  depth: number;
}

export interface ToolLane extends Place {
  kind: "tool";
  call: ToolEntry;
}

export interface ModelLane extends Place {
  kind: "model";
  call: ModelCall;
}

export type Lane = ToolLane | ModelLane;

export interface Timeline {
  lanes: Lane[];
  /** Milliseconds from the beginning of the first call to the end of the last. */
  span: number;
}

/** `elapsedMs` is the turn's running time, where the lanes of running calls end. Null where the tree has no times. */
export function timelineOf(view: TurnView, elapsedMs: number): Timeline | null {
  const starts = [...callsIn(view), ...view.modelCalls].flatMap(({ startedMs }) => (startedMs === null ? [] : [startedMs]));
  if (starts.length === 0) return null;
  const start = Math.min(...starts);
  const outline = outlineOf(view.entries);
  const lanes: Lane[] = [];
  const place = (startedMs: number, durationMs: number | null, depth: number): Place => {
    const from = startedMs - start;
    return { from, to: durationMs === null ? Math.max(elapsedMs - start, from) : from + durationMs, depth };
  };
  const add = (parent: string | null, depth: number) => {
    // By their starts. The reply that makes calls begins before them.
    const models = view.modelCalls.filter(({ parentId }) => parentId === parent).sort((a, b) => a.startedMs - b.startedMs);
    const addModels = (until: number) => {
      while (models[0] && models[0].startedMs < until) {
        const call = models.shift();
        if (call) lanes.push({ kind: "model", call, ...place(call.startedMs, call.durationMs, depth) });
      }
    };
    for (const entry of childrenOf(outline, parent)) {
      if (entry.kind !== "tool") continue;
      if (entry.startedMs !== null) {
        addModels(entry.startedMs);
        lanes.push({ kind: "tool", call: entry, ...place(entry.startedMs, entry.durationMs, depth) });
      }
      add(entry.id, depth + 1);
    }
    addModels(Number.POSITIVE_INFINITY);
  };
  add(null, 0);
  return { lanes, span: Math.max(1, ...lanes.map(({ to }) => to)) };
}

/**
 * Siblings in groups. The service starts all calls of a reply that may run side by side at the same time, so adjacent
 * calls with equal times form a group.
 */
export function sideBySide<Entry extends { kind: string }>(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  for (const entry of entries) {
    const group = groups.at(-1);
    const before = group?.[0];
    if (group && before && startOf(before) !== null && startOf(before) === startOf(entry)) group.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

function startOf(entry: { kind: string; startedMs?: number | null }): number | null {
  return entry.kind === "tool" ? (entry.startedMs ?? null) : null;
}
