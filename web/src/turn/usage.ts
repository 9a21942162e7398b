// The usage of turns, summed by day, operation, model or context.

import { usage as words } from "../settings/en";
import type { UsageRow } from "../wire";

export type By = "day" | "operation_type" | "model" | "context_type";

export interface Sum {
  name: string;
  calls: number;
  /** Input and output. */
  tokens: number;
  /** Null where the price of a call is unknown. */
  cost: number | null;
}

/** Days newest first; others with the most tokens first. */
export function sumsBy(rows: readonly UsageRow[], by: By): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = row[by];
    const before = sums.get(name) ?? { name, calls: 0, tokens: 0, cost: 0 };
    sums.set(name, plus(before, { name, calls: row.calls, tokens: row.input_tokens + row.output_tokens, cost: row.cost_usd }));
  }
  const order = by === "day" ? (a: Sum, b: Sum) => b.name.localeCompare(a.name) : (a: Sum, b: Sum) => b.tokens - a.tokens || b.calls - a.calls;
  return [...sums.values()].sort(order);
}

export function total(sums: readonly Sum[]): Sum {
  return sums.reduce(plus, { name: words.all, calls: 0, tokens: 0, cost: 0 });
}

function plus({ name, ...a }: Sum, b: Sum): Sum {
  const cost = a.cost === null || b.cost === null ? null : a.cost + b.cost;
  return { name, calls: a.calls + b.calls, tokens: a.tokens + b.tokens, cost };
}
