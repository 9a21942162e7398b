import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../wire";
import { reduceTurn } from "./reduce";
import { turnOf } from "./stored";
import { sideBySide, timelineOf } from "./timeline";
import { callsIn, newTurn } from "./view";

const started = (id: string, parent_id: string | null, started_ms: number, name = "calculate") =>
  ({ type: "tool_call_update", tool_call_id: id, name, status: "start", args: {}, started_ms, parent_id, depth: 0 });
const ended = (id: string, duration_ms: number, usage: object | null = null) =>
  ({ type: "tool_call_update", tool_call_id: id, name: "x", status: "end", result: "r", duration_ms, usage, parent_id: null, depth: 0 });

const played = (...bodies: object[]) =>
  bodies
    .map((body, index) => ({ ...body, seq: index + 1, turn_id: "t" }) as TurnEvent)
    .reduce(reduceTurn, newTurn("t"));

const usage = { llm_calls: 2, input_tokens: 30, cached_tokens: 0, output_tokens: 4, cost_usd: null };

const LIVE = [
  started("a", null, 100, "run_subtask"),
  started("b", null, 100, "run_subtask"),
  started("b1", "b", 150),
  started("a1", "a", 130),
  ended("a1", 20),
  ended("a", 80, usage),
];

describe("the timeline", () => {
  it("has one lane for each call, in the order of the tree, from the first start", () => {
    const timeline = timelineOf(played(...LIVE), 400);
    expect(timeline?.lanes.map(({ call, from, to }) => [call.id, from, to])).toEqual([
      ["a", 0, 80],
      ["a1", 30, 50],
      ["b", 0, 300],
      ["b1", 50, 300],
    ]);
    expect(timeline?.span).toBe(300);
  });

  it("is the same from the stored tree", () => {
    const live = played(...LIVE, ended("b1", 5), ended("b", 120));
    const node = { result_preview: "r", args_preview: "{}" };
    const stored = turnOf({
      id: "m",
      turn_id: "t",
      role: "assistant",
      content: "",
      created_at: 0,
      execution_tree: {
        version: 1,
        nodes: [
          { ...node, id: "a", parent_id: null, name: "run_subtask", started_ms: 100, duration_ms: 80, usage },
          { ...node, id: "b", parent_id: null, name: "run_subtask", started_ms: 100, duration_ms: 120 },
          { ...node, id: "b1", parent_id: "b", name: "calculate", started_ms: 150, duration_ms: 5 },
          { ...node, id: "a1", parent_id: "a", name: "calculate", started_ms: 130, duration_ms: 20 },
        ],
      },
    });
    const seen = (view: typeof live) =>
      timelineOf(view, 0)?.lanes.map(({ call, from, to }) => [call.id, call.usage, from, to]);
    expect(seen(stored)).toEqual(seen(live));
  });

  it("is absent where the tree has no times", () => {
    expect(timelineOf(played({ ...started("a", null, 0), started_ms: undefined }), 9)).toBeNull();
  });
});

describe("calls side by side", () => {
  it("are adjacent calls that started together", () => {
    const view = played(
      started("a", null, 5),
      started("b", null, 5),
      started("c", null, 9),
      { type: "chunk", content: "x", part_id: "p", model_call_id: "m", parent_id: null, depth: 0 },
      started("d", null, 9),
    );
    const ids = sideBySide(view.entries).map((group) => group.map(({ id }) => id));
    expect(ids).toEqual([["a", "b"], ["c"], ["m/p"], ["d"]]);
  });

  it("are not derived from trees without times", () => {
    const calls = callsIn(played({ ...started("a", null, 0), started_ms: null }, { ...started("b", null, 0), started_ms: null }));
    expect(sideBySide(calls)).toHaveLength(2);
  });
});
