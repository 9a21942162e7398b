// B-099: the words of the status chip, and the words for every end of a turn.

import { describe, expect, it } from "vitest";
import { costParts, durationText, noticeOf, statusOf } from "./status";
import { newTurn, type BudgetStop, type ToolEntry, type TurnView } from "./view";

const turn = (change: Partial<TurnView>): TurnView => ({ ...newTurn("t"), ...change });
const agent = (state: "thinking" | "executing_plan" | "waiting_on_user", details: string | null = null) =>
  turn({ agent: { state, details } });

/** A hook judges the answer of the level in this call. */
const judged = (status: "running" | "done", parentId: string | null) => {
  const hook = { point: "answer", decision: null, failed: false } as const;
  const entry: ToolEntry = {
    kind: "tool", id: "h1", parentId, depth: 0, name: "guard", title: null, status, args: null, result: null, isCut: false, startedMs: 0, durationMs: null, usage: null, sources: [], decision: null, hook,
  };
  return turn({ agent: { state: "thinking", details: null }, entries: [entry] });
};

describe("the status chip", () => {
  it.each([
    [agent("thinking"), "Thinking"],
    [agent("thinking", "executing_tool:calculate"), "Running calculate"],
    [agent("thinking", "executing_tool:run_subtask"), "Working on subtasks"],
    [agent("thinking", "executing_tool:route_request"), "Choosing how to work"],
    [agent("thinking", "queued"), "Queued"],
    [agent("thinking", "summarising_history"), "Summarising"],
    [judged("running", null), "Checking the answer"],
    [judged("running", "call"), "Thinking"],
    [judged("done", null), "Thinking"],
    [agent("executing_plan"), "Running plan"],
    [agent("waiting_on_user"), "Waiting for you"],
    [turn({ finishReason: "stop" }), "Idle"],
  ])("%#: %s", (view, label) => {
    expect(statusOf(view, "open", false).label).toBe(label);
  });

  // Issue 53, fault 12
  it("says that an app must answer where nobody is asked, and who it is", () => {
    const entry: ToolEntry = {
      kind: "tool", id: "c1", parentId: null, depth: 0, name: "ui_add_node", title: null, status: "running", args: null, result: null, isCut: false, startedMs: 0, durationMs: null, usage: null, sources: [], decision: null,
    };
    const waits = { ...agent("waiting_on_user"), entries: [entry] };
    expect(statusOf(waits, "open", false)).toEqual({ key: "waiting", label: "Waiting for an app", words: "Paused until the app that runs ui_add_node answers." });
    const asked = { id: "a", name: "ui_erase", args: {}, permissionClass: "editor_mutate", readOnly: false, byClient: true, form: null, expiresAt: 0, decision: null };
    expect(statusOf({ ...waits, approvals: [asked] }, "open", false).label).toBe("Waiting for you");
  });

  it("tells a lost connection first, then a stop", () => {
    expect(statusOf(agent("thinking"), "reconnecting", true).key).toBe("reconnecting");
    expect(statusOf(agent("thinking"), "open", true).key).toBe("stopping");
  });
});

describe("the notice at the end", () => {
  it("is absent if the turn ended by itself", () => {
    expect(noticeOf(turn({ finishReason: "stop" }))).toBeNull();
    expect(noticeOf(turn({}))).toBeNull();
  });

  it.each([
    ["length", "The answer was cut off at the length limit of the model."],
    ["content_filter", "The provider of the model withheld the rest of this answer."],
    ["cancelled", "Stopped."],
    ["interrupted", "The answer was interrupted."],
    ["error", "The answer failed."],
  ] as const)("%s: %s", (finishReason, title) => {
    expect(noticeOf(turn({ finishReason }))?.title).toBe(title);
  });

  //
  it("says that a hook blocked the answer, and why", () => {
    const failure = { code: "blocked", message: "The hook guard blocked it: no.", retryable: false };
    expect(noticeOf(turn({ finishReason: "error", failure }))).toMatchObject({ tone: "warning", title: "A hook blocked the answer.", text: failure.message });
  });

  // Issue 53, fault 5
  it("says that the limit of model calls stopped the answer, and not that it failed", () => {
    const modelCall = { id: "m", parentId: null, model: "m1", startedMs: 0, firstByteMs: null, durationMs: 1, usage: null, costUsd: null, finishReason: "tool_calls" };
    const failure = { code: "iteration_limit", message: "Continue the turn.", retryable: false };
    const notice = (modelCalls: TurnView["modelCalls"]) => noticeOf(turn({ finishReason: "error", failure, modelCalls }));
    expect(notice([modelCall, modelCall, { ...modelCall, parentId: "c" }])).toEqual({ code: "iteration_limit", tone: "warning", title: "Stopped after 2 model calls.", text: "Finished work is kept.", retryable: false });
    expect(notice([])?.title).toBe("Stopped at the limit of model calls.");
  });

  it("names the limit that was reached", () => {
    const limit = (reason: string, limit: number) =>
      noticeOf(turn({ finishReason: "budget", budget: { reason, limit, observed: limit + 1, left: [] } }))?.title;
    expect(limit("llm_calls", 60)).toBe("This answer reached its limit of 60 model calls.");
    expect(limit("wall_clock", 180_000)).toBe("This answer reached its limit of 3 min running time.");
  });

  it("names the work that a limit left, five pieces of it at most", () => {
    const text = (left: BudgetStop["left"]) =>
      noticeOf(turn({ finishReason: "budget", budget: { reason: "tokens", limit: 1, observed: 2, left } }))?.text;
    expect(text([])).toBe("Finished work is kept. The answer is not complete.");
    const pears = { name: "run_subtask", title: "Pears", begun: true };
    expect(text([pears, { name: "fetch_url" }, { title: "Compare" }])).toBe(
      "Finished work is kept. Left to do: Pears, fetch_url, Compare.",
    );
    const six = Array.from({ length: 6 }, (_, index) => ({ title: `${index}` }));
    expect(text(six.slice(1))).toBe("Finished work is kept. Left to do: 1, 2, 3, 4, 5.");
    expect(text(six)).toBe("Finished work is kept. Left to do: 0, 1, 2, 3, 4 and 1 more.");
  });
});

it("writes durations and costs in words", () => {
  expect([0, 340, 2449, 65_000].map(durationText)).toEqual(["0 ms", "340 ms", "2.4 s", "1 min 5 s"]);
  const cost = {
    llm_calls: 1,
    tool_calls: 2,
    subtasks: 0,
    input_tokens: 1000,
    cached_tokens: 0,
    output_tokens: 234,
    cost_usd: null, by_model: {},
  };
  expect(costParts(cost)).toEqual(["1 model call", "2 tool calls", "1,234 tokens"]);
  expect(costParts({ ...cost, cost_usd: 0.0031, by_model: {} }).at(-1)).toBe("$0.0031");
  expect(costParts({ ...cost, estimated: true }).slice(-2)).toEqual(["1,234 tokens", "estimated"]);
});
