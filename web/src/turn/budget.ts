// A turn's use of its limits.

import { en } from "../en";
import type { TurnView } from "./view";

export interface BudgetLine {
  label: string;
  used: number;
  limit: number;
  /** `used` and `limit` are milliseconds. */
  time?: true;
}

export function budgetLines({ limits, begun }: TurnView, elapsedMs: number): BudgetLine[] {
  if (!limits) return [];
  return [
    { label: en.status.time, used: Math.max(0, elapsedMs), limit: limits.wall_clock_ms, time: true },
    { label: en.status.modelCalls, used: begun.llm_calls, limit: limits.llm_calls },
    { label: en.status.toolCalls, used: begun.tool_calls, limit: limits.tool_calls },
    { label: en.status.subtaskCount, used: begun.subtasks, limit: limits.subtasks },
  ];
}

export function fractionOf({ used, limit }: BudgetLine): number {
  return limit > 0 ? Math.min(1, used / limit) : 1;
}

/** The fraction of the limit that the turn will reach first. */
export function fullest(lines: readonly BudgetLine[]): number {
  return lines.reduce((most, line) => Math.max(most, fractionOf(line)), 0);
}
