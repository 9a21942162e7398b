// N-117 N-132, and the page's part of N-111…N-120, B-099.

import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../wire";
import { compose } from "../feature";
import { childrenOf, outlineOf } from "./outline";
import { reduceTurn } from "./reduce";
import { newTurn, openApprovals, openLimit, type TurnView } from "./view";

const TURN = "turn";

/** Other versions of the service send other members. A test gives those that the page needs. */
type Body<E = TurnEvent> = E extends TurnEvent ? { type: E["type"] } & Partial<Omit<E, "seq" | "turn_id">> : never;

/** Numbers the events as the service would, and applies them. */
function played(...bodies: Body[]): TurnView {
  return numbered(bodies).reduce(reduceTurn, newTurn(TURN));
}

function numbered(bodies: Body[]): TurnEvent[] {
  return bodies.map((body, index) => ({ ...body, seq: (index + 1) * 10, turn_id: TURN }) as TurnEvent);
}

const chunk = (content: string, part = "p1", call = "m1", parent: string | null = null): Body => ({
  type: "chunk",
  content,
  part_id: part,
  model_call_id: call,
  parent_id: parent,
  depth: parent === null ? 0 : 1,
});

const started = (id: string, name: string, parent: string | null = null, depth = 0): Body => ({
  type: "tool_call_update",
  tool_call_id: id,
  name,
  status: "start",
  args: name === "run_subtask" ? { title: `Task ${id}`, instructions: "…" } : { expression: "1+1" },
  parent_id: parent,
  depth,
});

const ended = (id: string, name: string, change: object = {}): Body => ({
  type: "tool_call_update",
  tool_call_id: id,
  name,
  status: "end",
  result: "2",
  duration_ms: 5,
  ...change,
});

const hook = (id: string, status: "start" | "end", change: object = {}): Body => ({
  type: "hook_update",
  hook_call_id: id,
  hook: "guard",
  point: "action",
  status,
  tool_call_id: "t1",
  started_ms: 5,
  parent_id: null,
  depth: 0,
  ...change,
});

const done = (finish_reason: "stop" | "cancelled" | "budget" = "stop"): Body => ({
  type: "done",
  message_id: "a",
  finish_reason,
});

/** The nesting as a reader sees it. */
function sketch(view: TurnView, parent: string | null = null): unknown[] {
  const outline = outlineOf(view.entries);
  return childrenOf(outline, parent).map((entry) =>
    entry.kind === "tool"
      ? [entry.title ?? entry.name, entry.status, ...sketch(view, entry.id)]
      : entry.content,
  );
}

describe("text", () => {
  it("grows part by part, in the order in which the parts began", () => {
    const view = played(chunk("Hel"), chunk("lo"), started("t", "calculate"), chunk("2", "p1", "m2"));
    expect(sketch(view)).toEqual(["Hello", ["calculate", "running"], "2"]);
  });

  it("gives a title to calls that contain others, as the stored tree does, and none to plain calls", () => {
    compose([{ name: "plans", turn: { levels: ["plan_step"], subtasks: ["plan_step"], begin: () => null, after: () => null, stored: () => null } }]);
    const titled = (id: string, name: string): Body => ({ ...started(id, name), args: { title: "Brief" } }) as Body;
    const view = played(titled("a", "publish_context_document"), titled("b", "plan_step"), titled("c", "run_subtask"));
    expect(view.entries.map((entry) => entry.kind === "tool" && entry.title)).toEqual([null, "Brief", "Brief"]);
    compose([]);
  });

  it("keeps reasoning apart", () => {
    const view = played({ ...chunk("Hm"), kind: "reasoning" } as Body, chunk("Yes", "p2"));
    expect(view.entries.map((entry) => entry.kind)).toEqual(["reasoning", "text"]);
  });

  // Issue 19, item 3.
  it("of a summary takes the place of the summary before it, and a reset drops none", () => {
    const view = played(
      { type: "history_summary", text: "one" },
      chunk("Yes"),
      { type: "history_summary", text: "two" },
      { type: "history_summary" },
      { type: "model_call_reset", model_call_id: "m1", reason: "resumed" },
    );
    expect(view.entries.map(({ kind, id }) => [kind, id])).toEqual([["summary", "summary"], ["summary", "left-out"]]);
    expect(sketch(view)).toEqual(["two", ""]);
  });

  it("is closed by the end of its model call, and an empty last chunk opens nothing", () => {
    const view = played(
      chunk("a"),
      { ...chunk("", "p2"), done: true } as Body,
      { type: "model_call_update", model_call_id: "m1", status: "end", model: "x" },
    );
    expect(view.entries).toMatchObject([{ content: "a", done: true }]);
  });

  it("of a call that the service makes again is dropped, and no other text", () => {
    const view = played(
      chunk("kept", "p1", "m0"),
      chunk("half a sen", "p1", "m1"),
      { type: "model_call_reset", model_call_id: "m1", reason: "resumed" },
      chunk("a whole sentence", "p1", "m1"),
    );
    expect(sketch(view)).toEqual(["kept", "a whole sentence"]);
  });
});

describe("tool calls", () => {
  it("nest by parent_id, streamed text included, over three levels", () => {
    const view = played(
      started("a", "run_subtask"),
      started("b", "run_subtask"),
      chunk("in a", "p", "ma", "a"),
      started("c", "run_subtask", "a", 1),
      chunk("in b", "p", "mb", "b"),
      started("d", "calculate", "c", 2),
      ended("d", "calculate"),
      chunk(", still", "p", "ma", "a"),
    );
    expect(sketch(view)).toEqual([
      ["Task a", "running", "in a, still", ["Task c", "running", ["calculate", "done"]]],
      ["Task b", "running", "in b"],
    ]);
  });

  it("keep their arguments when the end brings none", () => {
    const view = played(started("t", "calculate"), ended("t", "calculate", { is_error: true }));
    expect(view.entries[0]).toMatchObject({
      args: { expression: "1+1" },
      status: "error",
      result: "2",
      durationMs: 5,
    });
  });

  it("stand at the root when their subtask is unknown", () => {
    const view = played(started("t", "calculate", "nobody", 1));
    expect(sketch(view)).toEqual([["calculate", "running"]]);
  });

  it("run no longer than their turn", () => {
    const view = played(started("t", "calculate"), done("cancelled"));
    expect(sketch(view)).toEqual([["calculate", "error"]]);
  });
});

describe("the turn", () => {
  it("has a state until its end", () => {
    const thinking: Body = { type: "agent_state", state: "thinking", context_type: "thread" };
    expect(played(thinking).agent).toEqual({ state: "thinking", details: null });
    expect(played(thinking, done()).agent).toBeNull();
  });

  it("keeps the cause of its stop", () => {
    const view = played(
      { type: "budget_exceeded", reason: "llm_calls", limit: 60, observed: 61, left: [{ name: "fetch_url" }] },
      { type: "error", code: "budget_exceeded", message: "Enough.", retryable: false },
      done("budget"),
    );
    expect(view).toMatchObject({
      budget: { reason: "llm_calls", limit: 60, observed: 61, left: [{ name: "fetch_url" }] },
      failure: { code: "budget_exceeded" },
      finishReason: "budget",
    });
  });

  it("ignores repeated events, events of other turns, and unknown events", () => {
    const events = numbered([chunk("a"), chunk("b"), chunk("c")]);
    const twice = [...events.slice(0, 2), ...events].reduce(reduceTurn, newTurn(TURN));
    expect(sketch(twice)).toEqual(["abc"]);
    const other = reduceTurn(twice, { ...numbered([chunk("x")])[0]!, seq: 99, turn_id: "other" });
    expect(other).toBe(twice);
    const odd = reduceTurn(twice, { type: "later", seq: 99, turn_id: TURN } as unknown as TurnEvent);
    expect(sketch(odd)).toEqual(["abc"]);
  });
});

describe("approvals", () => {
  const request = (id: string): Body => ({
    type: "approval_request",
    approval_id: id,
    tool_call_id: `call ${id}`,
    name: "fetch_page",
    args: { url: "https://example.com" },
    permission_class: "network",
    expires_at: 1,
  });
  const resolved = (id: string, decision: "deny" | "expired"): Body => ({
    type: "approval_resolved",
    approval_id: id,
    tool_call_id: `call ${id}`,
    decision,
  });

  it("are shown until a person decides, here or elsewhere", () => {
    const asked = played(request("a"), request("b"));
    const args = { url: "https://example.com" };
    const facts = { permissionClass: "network", readOnly: false, form: null, byClient: false };
    expect(asked.approvals).toEqual([
      { id: "a", name: "fetch_page", args, ...facts, expiresAt: 1, decision: null },
      { id: "b", name: "fetch_page", args, ...facts, expiresAt: 1, decision: null },
    ]);
    const answered = played(request("a"), request("b"), resolved("a", "deny"));
    expect(answered.approvals.map(({ decision }) => decision)).toEqual(["deny", null]);
    expect(openApprovals(answered).map(({ id }) => id)).toEqual(["b"]);
    expect(openApprovals(played(request("a"), resolved("a", "expired")))).toEqual([]);
  });

  it("are dropped at the end of the turn", () => {
    expect(played(request("a"), done("cancelled")).approvals).toEqual([]);
  });
});

// Issue 19, 4.
describe("questions at a limit", () => {
  const usage = { llm_calls: 2, tool_calls: 4, subtasks: 1, input_tokens: 9, cached_tokens: 0, output_tokens: 1, cost_usd: null, by_model: {} };
  const request = (id: string): Body => ({
    type: "limit_request",
    approval_id: id,
    reason: "tool_calls",
    limit: 4,
    observed: 5,
    raised_to: 8,
    grants_left: 3,
    usage,
    expires_at: 1,
  });
  const limits = { subtasks: 64, llm_calls: 120, tool_calls: 8, wall_clock_ms: 40_000 };
  const resolved = (id: string, decision: "approve" | "deny"): Body => ({ type: "limit_resolved", approval_id: id, decision, limits });

  it("stand until a person decides, and the answer of the service brings the limits", () => {
    const asked = played(request("a"));
    expect(asked.limitRequests).toEqual([
      { id: "a", reason: "tool_calls", limit: 4, raisedTo: 8, grantsLeft: 3, usage, expiresAt: 1, decision: null },
    ]);
    expect([openLimit(asked)?.id, asked.limits]).toEqual(["a", null]);
    const answered = played(request("a"), resolved("a", "approve"), request("b"));
    expect([answered.limitRequests.map(({ decision }) => decision), openLimit(answered)?.id]).toEqual([["approve", null], "b"]);
    expect(answered.limits).toEqual(limits);
    expect(openLimit(played(request("a"), resolved("a", "deny")))).toBeUndefined();
  });

  it("are dropped at the end of the turn", () => {
    expect(played(request("a"), done("cancelled")).limitRequests).toEqual([]);
  });
});

// Issue 20, section 3.
describe("hooks", () => {
  it("stand among the calls, with their verdict", () => {
    const asked = played(hook("h1", "start"), started("f1", "finish_subtask", "h1", 1));
    expect(asked.entries.map((entry) => [entry.id, entry.parentId])).toEqual([
      ["h1", null],
      ["f1", "h1"],
    ]);
    expect(asked.entries[0]).toMatchObject({ name: "guard", status: "running", hook: { point: "action", decision: null, failed: false } });
    const view = played(
      hook("h1", "start"),
      hook("h1", "end", { decision: "block", text: "not today", duration_ms: 7 }),
      hook("h2", "end", { decision: "block", failed: true }),
    );
    expect(view.entries).toMatchObject([
      { id: "h1", status: "done", result: "not today", durationMs: 7, hook: { decision: "block", failed: false } },
      { id: "h2", status: "error", result: null, hook: { decision: "block", failed: true } },
    ]);
  });

  it("are no calls of the turn's budget, and end with it", () => {
    const view = played(hook("h1", "start"), done("cancelled"));
    expect(view.begun.tool_calls).toBe(0);
    expect(view.entries[0]).toMatchObject({ status: "error", hook: { decision: null } });
  });
});
