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

describe("model calls in the timeline", () => {
  const usage = { input_tokens: 30, cached_tokens: 10, output_tokens: 4 };
  const asked = (id: string, parent_id: string | null, started_ms: number) =>
    ({ type: "model_call_update", model_call_id: id, model: "m", status: "start", started_ms, parent_id, depth: 0 });
  const answered = (id: string, parent_id: string | null, started_ms: number, first_byte_ms: number, duration_ms: number) =>
    ({ ...asked(id, parent_id, started_ms), status: "end", first_byte_ms, duration_ms, usage, cost_usd: 0.5, finish_reason: "stop" });
  const lanes = (view: ReturnType<typeof played>) =>
    timelineOf(view, 500)?.lanes.map(({ kind, call, from, to, depth }) => `${kind} ${call.id} ${from}-${to} ${depth}`);
  const live = [
    asked("m0", null, 10),
    answered("m0", null, 10, 40, 90),
    started("a", null, 100, "run_subtask"),
    asked("a-m", "a", 100),
    answered("a-m", "a", 100, 5, 50),
    ended("a", 60),
    asked("m1", null, 170),
  ];

  it("stand before the calls that they made, on the level that asked", () => {
    expect(lanes(played(...live))).toEqual(["model m0 0-90 0", "tool a 90-150 0", "model a-m 90-140 1", "model m1 160-490 0"]);
  });

  it("are the same from the stored tree, where they stand in the order of their ends", () => {
    const end = { model: "m", usage, cost_usd: 0.5, finish_reason: "stop" };
    const stored = turnOf({
      id: "m",
      turn_id: "t",
      role: "assistant",
      content: "",
      created_at: 0,
      execution_tree: {
        version: 1,
        nodes: [{ id: "a", parent_id: null, name: "run_subtask", started_ms: 100, duration_ms: 60 }],
        model_calls: [
          { ...end, id: "a-m", parent_id: "a", started_ms: 100, first_byte_ms: 5, duration_ms: 50 },
          { ...end, id: "m0", parent_id: null, started_ms: 10, first_byte_ms: 40, duration_ms: 90 },
          { ...end, id: "m1", parent_id: null, started_ms: 170, first_byte_ms: 2, duration_ms: 330 },
        ],
      },
    });
    const whole = played(...live, answered("m1", null, 170, 2, 330));
    expect(lanes(stored)).toEqual(lanes(whole));
    const byStart = (view: typeof whole) => view.modelCalls.toSorted((a, b) => a.startedMs - b.startedMs);
    expect(byStart(stored)).toEqual(byStart(whole));
  });

  it("that were repeated have the times of the repetition", () => {
    const again = played(asked("m0", null, 10), { type: "model_call_reset", model_call_id: "m0", reason: "interrupted", parent_id: null, depth: 0 }, answered("m0", null, 300, 1, 20));
    expect(lanes(again)).toEqual(["model m0 0-20 0"]);
  });

  it("of an earlier version, without times, have no lane", () => {
    expect(timelineOf(played({ ...asked("m0", null, 0), started_ms: undefined }), 9)).toBeNull();
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
