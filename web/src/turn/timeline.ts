// The calls of a turn over its time: one lane each, in the order of the tree. Live and stored turns give the same.

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

/** `elapsedMs` is the turn's running time: calls that run reach up to it. Null where no times were stored. */
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
 * Siblings that stand together, those that were started together as one group: the service starts the calls of a reply
 * that may run side by side in one step, so they have the same time.
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
