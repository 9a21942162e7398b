// Usage by day, operation, model and context.

import { expect, it } from "vitest";
import type { UsageRow } from "../wire";
import { sumsBy, total } from "./usage";

const row = (change: Partial<UsageRow>): UsageRow => ({
  day: "2026-01-31",
  operation_type: "chat",
  provider: "p",
  model: "m",
  context_type: "thread",
  calls: 1,
  input_tokens: 10,
  cached_tokens: 4,
  output_tokens: 5,
  cost_usd: 0.5,
  ...change,
});

const rows = [
  row({ day: "2026-01-30", calls: 2 }),
  row({ operation_type: "plan_step", input_tokens: 100, cost_usd: null }),
  row({ model: "n", context_type: "project", cost_usd: 0.25 }),
];

it("is summed by day, newest first, and by others, most tokens first", () => {
  expect(sumsBy(rows, "day")).toEqual([
    { name: "2026-01-31", calls: 2, tokens: 120, cost: null },
    { name: "2026-01-30", calls: 2, tokens: 15, cost: 0.5 },
  ]);
  expect(sumsBy(rows, "operation_type").map(({ name, tokens }) => [name, tokens])).toEqual([["plan_step", 105], ["chat", 30]]);
  expect(sumsBy(rows, "model").map(({ name, cost }) => [name, cost])).toEqual([["m", null], ["n", 0.25]]);
  expect(sumsBy(rows, "context_type").map(({ name }) => name)).toEqual(["thread", "project"]);
});

it("has a total, whose cost is unknown if the cost of one call is", () => {
  expect(total(sumsBy(rows, "model"))).toEqual({ name: "All", calls: 4, tokens: 135, cost: null });
  expect(total(sumsBy(rows.filter(({ cost_usd }) => cost_usd !== null), "day")).cost).toBe(0.75);
  expect(total([])).toEqual({ name: "All", calls: 0, tokens: 0, cost: 0 });
});
