// The calls of a turn over its running time: one lane for each, in the order of the tree. A stored turn has the same
// timeline as the live one.

import { childrenOf, outlineOf } from "./outline";
import { callsIn, type ToolEntry, type TurnView } from "./view";

export interface Lane {
  call: ToolEntry;
  /** Milliseconds from the beginning of the first call. */
  from: number;
  to: number;
}

export interface Timeline {
  lanes: Lane[];
  /** Milliseconds from the beginning of the first call to the end of the last. */
  span: number;
}

/** `elapsedMs` is the turn's running time, where the lanes of running calls end. Null where the tree has no times. */
export function timelineOf(view: TurnView, elapsedMs: number): Timeline | null {
  const timed = callsIn(view).filter((call) => call.startedMs !== null);
  if (timed.length === 0) return null;
  const start = Math.min(...timed.map((call) => call.startedMs ?? 0));
  const outline = outlineOf(view.entries);
  const lanes: Lane[] = [];
  const add = (parent: string | null) => {
    for (const entry of childrenOf(outline, parent)) {
      if (entry.kind !== "tool") continue;
      if (entry.startedMs !== null) {
        const from = entry.startedMs - start;
        const to = entry.durationMs === null ? Math.max(elapsedMs - start, from) : from + entry.durationMs;
        lanes.push({ call: entry, from, to });
      }
      add(entry.id);
    }
  };
  add(null);
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
