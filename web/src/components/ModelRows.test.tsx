// The models of a turn below its timeline, from the ledger that live and stored turns both have.

import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { CostSummary } from "../wire";
import { ModelRows } from "./ModelRows";

const used = (cost_usd: number | null) => ({ llm_calls: 2, input_tokens: 12_345, cached_tokens: 0, output_tokens: 67, cost_usd });
const ledger = (by_model: CostSummary["by_model"]): CostSummary => ({ ...used(null), tool_calls: 0, subtasks: 0, by_model });
const rows = (cost: CostSummary | null) =>
  [...renderToStaticMarkup(<ModelRows cost={cost} />).matchAll(/data-testid="model-row">(.*?)<\/tr>/g)].map(([, cells = ""]) => cells.replace(/<[^>]+>/g, " ").trim().split(/\s{2,}/));

it("has a row for each model with its calls, tokens and cost", () => {
  expect(rows(ledger({ "a:1": used(0.5), "b:2": used(null), "c:3": used(0) }))).toEqual([
    ["a:1", "2", "12.3K", "67", "$0.50"],
    ["b:2", "2", "12.3K", "67", "unknown"],
    ["c:3", "2", "12.3K", "67", "none"],
  ]);
});

it("has none while the turn runs, or without a model call", () => {
  expect([rows(null), rows(ledger({}))]).toEqual([[], []]);
});
