// The nesting of a turn, derived from `parentId` alone.

import type { TurnEntry } from "./view";

export type Outline = ReadonlyMap<string | null, readonly TurnEntry[]>;

/**
 * The entries by their enclosing subtask, each list in order of appearance; null is the root. An entry of an unknown
 * subtask stands at the root, so that it is shown.
 */
export function outlineOf(entries: readonly TurnEntry[]): Outline {
  const calls = new Set(entries.filter((entry) => entry.kind === "tool").map((call) => call.id));
  const outline = new Map<string | null, TurnEntry[]>();
  for (const entry of entries) {
    const parent = entry.parentId !== null && calls.has(entry.parentId) ? entry.parentId : null;
    const siblings = outline.get(parent);
    if (siblings) siblings.push(entry);
    else outline.set(parent, [entry]);
  }
  return outline;
}

export function childrenOf(outline: Outline, parentId: string | null): readonly TurnEntry[] {
  return outline.get(parentId) ?? [];
}
