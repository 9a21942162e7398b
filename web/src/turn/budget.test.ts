// The page's part of N-118: the calls that a turn has begun, beside its limits.

import { expect, it } from "vitest";
import { compose } from "../feature";
import type { TurnEvent } from "../wire";
import { budgetLines, fullest } from "./budget";
import { reduceTurn } from "./reduce";
import { newTurn } from "./view";

const limits = { subtasks: 4, llm_calls: 10, tool_calls: 20, wall_clock_ms: 1000 };

it("counts calls when they begin, including repeated ones", () => {
  const model = { type: "model_call_update", model_call_id: "m", model: "x" };
  const tool = (name: string, status: string) => ({ type: "tool_call_update", tool_call_id: name, name, status });
  const view = [
    { type: "session", thread_id: "t", user_message_id: "u", assistant_message_id: "a", provider: "p", model: "x", limits },
    { ...model, status: "start" },
    { type: "model_call_reset", model_call_id: "m", reason: "interrupted" },
    { ...model, status: "end" },
    tool("run_subtask", "start"),
    tool("calculate", "start"),
    tool("calculate", "end"),
  ]
    .map((body, index) => ({ ...body, seq: index + 1, turn_id: "t" }) as unknown as TurnEvent)
    .reduce(reduceTurn, newTurn("t"));
  const lines = budgetLines(view, 500);
  expect(lines.map(({ label, used, limit }) => [label, used, limit])).toEqual([
    ["Time", 500, 1000],
    ["Model calls", 2, 10],
    ["Tool calls", 2, 20],
    ["Subtasks", 1, 4],
  ]);
  expect(fullest(lines)).toBe(0.5);
  expect(view.questionId).toBe("u");
});

// CF-06: the service counts the calls of plans and agents as subtasks, and no other.
it("counts the subtasks that features declare", () => {
  const turn = { levels: [], begin: () => null, after: () => null, stored: () => null };
  compose([
    { name: "plans", turn: { ...turn, subtasks: ["plan_step"] } },
    { name: "agents", turn: { ...turn, subtasks: ["agent_reply", "websearch"] } },
    { name: "files" },
  ]);
  const calls = ["plan_step", "agent_reply", "discuss", "websearch", "run_subtask", "read_file"];
  const view = calls
    .map((name, index) => ({ type: "tool_call_update", tool_call_id: name, name, status: "start", seq: index + 1, turn_id: "t" }) as unknown as TurnEvent)
    .reduce(reduceTurn, newTurn("t"));
  expect(view.begun).toMatchObject({ tool_calls: 6, subtasks: 4 });
  compose([]);
});

it("has no lines without limits", () => {
  expect(budgetLines(newTurn("t"), 5)).toEqual([]);
  expect(fullest([])).toBe(0);
});
