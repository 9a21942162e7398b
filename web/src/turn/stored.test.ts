// N-123 N-124 N-125 N-128 N-133

import { describe, expect, it } from "vitest";
import type { StoredMessage, TreeNode, TurnEvent } from "../wire";
import { childrenOf, outlineOf } from "./outline";
import { reduceTurn } from "./reduce";
import { begunExchange, callsOf, exchangesOf, questionIdOf, renewed, turnOf } from "./stored";
import { argFields } from "../components/gist";
import { beginning, canContinue, DETAIL_CHARS, newTurn, type ToolEntry, type TurnView } from "./view";

const node = (id: string, parent_id: string | null, change: Partial<TreeNode> = {}): TreeNode => ({
  id,
  parent_id,
  name: parent_id === null ? "run_subtask" : "calculate",
  duration_ms: 1,
  ...change,
});

const tree = (...nodes: TreeNode[]) => ({ version: 1, nodes });

const message = (change: Partial<StoredMessage>): StoredMessage => ({
  id: "m",
  turn_id: "t",
  role: "assistant",
  content: "",
  created_at: 0,
  ...change,
});

/** id → depth and the ids inside, whatever the order of the list. */
function nesting(nodes: TreeNode[]) {
  const calls = callsOf(tree(...nodes));
  const outline = outlineOf(calls);
  return Object.fromEntries(
    calls
      .map((call) => [call.id, [call.depth, ...childrenOf(outline, call.id).map(({ id }) => id).sort()]])
      .sort(),
  );
}

// Issue 19, 4: the notice of a reloaded answer says what the live one said.
it("a stored answer knows the limit that ended it, and what it left", () => {
  const budget = { reason: "tool_calls", limit: 4, observed: 5 } as const;
  const left = [{ name: "run_subtask", title: "Pears", begun: true }];
  const stop = { code: "budget_exceeded", message: "Enough.", budget, left };
  const view = turnOf(message({ finish_reason: "budget", stop }));
  expect(view).toMatchObject({ budget: { ...budget, left }, failure: { code: "budget_exceeded" } });
  expect(canContinue(view)).toBe(true);
  expect(canContinue(turnOf(message({ finish_reason: "error", stop: { code: "iteration_limit", message: "" } })))).toBe(true);
  expect(canContinue(turnOf(message({ finish_reason: "cancelled", stop: { code: "cancelled", message: "" } })))).toBe(false);
  expect(canContinue(turnOf(message({ finish_reason: "stop" })))).toBe(false);
});

describe("an execution tree", () => {
  const nodes = [
    node("a", null),
    node("b", null),
    node("a1", "a", { name: "run_subtask" }),
    node("a2", "a"),
    node("a1x", "a1"),
  ];
  const expected = { a: [0, "a1", "a2"], a1: [1, "a1x"], a1x: [2], a2: [1], b: [0] };

  it("nests the same in every order of its flat list", () => {
    expect(nesting(nodes)).toEqual(expected);
    expect(nesting([...nodes].reverse())).toEqual(expected);
    expect(nesting([3, 4, 0, 2, 1].map((index) => nodes[index]!))).toEqual(expected);
  });

  it("is shown whole when it is damaged", () => {
    const calls = callsOf(tree(node("x", "gone"), node("y", "z"), node("z", "y")));
    expect(calls.map(({ id, parentId, depth }) => [id, parentId, depth])).toEqual([
      ["x", null, 0],
      ["y", null, 0],
      ["z", null, 0],
    ]);
  });

  it("of another version gives no cards", () => {
    expect(callsOf({ version: 2, nodes })).toEqual([]);
  });

  it("marks a result that was cut off", () => {
    const [call] = callsOf(tree(node("a", null, { result_preview: "x".repeat(500) })));
    expect(call?.result?.slice(-2)).toBe("x…");
  });

  it("gives each card its saved previews", () => {
    const [call] = callsOf(
      tree(node("a", null, { title: "T", args_preview: "{", result_preview: "r", is_error: true })),
    );
    expect(call).toMatchObject({ title: "T", args: "{", result: "r", status: "error", durationMs: 1 });
  });
});

describe("stored messages", () => {
  it("are paired by their turn", () => {
    const exchanges = exchangesOf([
      message({ id: "u1", turn_id: "1", role: "user", content: "one?" }),
      message({ id: "a1", turn_id: "1", content: "one." }),
      message({ id: "u2", turn_id: "2", role: "user", content: "two?" }),
    ]);
    expect(exchanges.map(({ question, answer }) => [question, answer?.entries.length])).toEqual([
      ["one?", 1],
      ["two?", undefined],
    ]);
  });

  it("tell why the turn stopped", () => {
    const view = turnOf(
      message({ finish_reason: "error", stop: { code: "provider_network", message: "No line." } }),
    );
    expect(view.failure).toEqual({ code: "provider_network", message: "No line.", retryable: true });
    expect(view.finishReason).toBe("error");
  });
});

describe("a chat that is read again", () => {
  const read = () =>
    exchangesOf([
      message({ id: "u1", turn_id: "1", role: "user", content: "one?" }),
      message({ id: "a1", turn_id: "1", content: "one." }),
      message({ id: "u2", turn_id: "2", role: "user", content: "two?" }),
    ]);

  it("keeps unchanged exchanges on screen, and takes the others", () => {
    const shown = [...read().slice(0, 1), begunExchange("gone", "replaced?")];
    const now = renewed(shown, read());
    expect(now[0]).toBe(shown[0]);
    expect(now.map(({ question }) => question)).toEqual(["one?", "two?"]);
  });

  it("knows the id of a question that was read or that began here", () => {
    expect(read().map(questionIdOf)).toEqual(["u1", "u2"]);
    const begun = begunExchange("3", "three?");
    expect(questionIdOf(begun)).toBeNull();
    expect(questionIdOf({ ...begun, answer: { ...begun.answer!, questionId: "u3" } })).toBe("u3");
  });
});

/** The entries as a reader sees them, each with those inside it. */
function seen(view: TurnView, parent: string | null = null): unknown[] {
  return childrenOf(outlineOf(view.entries), parent).map((entry) =>
    entry.kind === "tool"
      ? [entry.depth, entry.name, entry.title, entry.status, entry.result, ...seen(view, entry.id)]
      : [entry.depth, entry.kind, entry.content, entry.done],
  );
}

const result = "Found it. ".repeat(80).trim();
const place = (parent: string | null) => ({ parent_id: parent, depth: parent === null ? 0 : 1 });
const chunk = (content: string, part: string, parent: string | null = null, kind = "text") => ({
  type: "chunk", content, part_id: part, model_call_id: `model of ${part}`, kind, ...place(parent),
});
const call = (id: string, name: string, status: string, parent: string | null = null, more = {}) => ({
  type: "tool_call_update", tool_call_id: id, name, status, ...place(parent), ...more,
});
const live = [
  chunk("Let me ", "p1", null, "reasoning"),
  chunk("think.", "p1", null, "reasoning"),
  chunk("First I look.", "p2"),
  call("a", "run_subtask", "start", null, { args: { title: "Look" } }),
  call("b", "run_subtask", "start", null, { args: { title: "Ask" } }),
  chunk("Hm.", "q1", "a", "reasoning"),
  chunk("Asking", "r1", "b"),
  call("a1", "calculate", "start", "a", { args: {} }),
  chunk(" around.", "r1", "b"),
  call("a1", "calculate", "end", "a", { result: "2", duration_ms: 1 }),
  chunk(result, "q2", "a"),
  call("b", "run_subtask", "end", null, { result: "no", is_error: true, duration_ms: 1 }),
  call("a", "run_subtask", "end", null, { result, duration_ms: 1 }),
  chunk("So it is.", "p3"),
  { type: "history_summary", text: "They met." },
  { type: "history_summary" },
  { type: "done", message_id: "m", finish_reason: "stop" },
].map((event, index) => ({ ...event, seq: index + 1, turn_id: "t" }) as unknown as TurnEvent);
const stored = message({
  content: "First I look.\n\nSo it is.",
  execution_tree: tree(
    node("a", null, { title: "Look", result_preview: `${result.slice(0, 499)}…` }),
    node("b", null, { title: "Ask", result_preview: "no", is_error: true }),
    node("a1", "a", { result_preview: "2" }),
  ),
  parts: [
    { type: "reasoning", text: "Let me think." },
    { type: "text", text: "First I look." },
    { type: "call", tool_call_id: "a" },
    { type: "call", tool_call_id: "b" },
    { type: "text", text: "Asking around.", parent_id: "b" },
    { type: "reasoning", text: "Hm.", parent_id: "a" },
    { type: "call", tool_call_id: "a1", parent_id: "a" },
    { type: "text", text: result, parent_id: "a" },
    { type: "text", text: "So it is." },
    { type: "summary", text: "They met." },
    { type: "summary" },
  ],
});

// Issue 19, item 1.
describe("long arguments and results", () => {
  const long = { args: { path: "a.md", content: "x".repeat(600) }, result: "y".repeat(600) };
  const cut = `${"z".repeat(3999)}…`;
  const previews = node("a", null, { name: "write_file", args_preview: `${JSON.stringify(long.args).slice(0, 499)}…`, result_preview: `${long.result.slice(0, 499)}…` });
  const read = (part: object) =>
    callsOf(tree(previews)).concat(turnOf(message({ execution_tree: tree(previews), parts: [{ type: "call", tool_call_id: "a", ...part }] })).entries as ToolEntry[]);

  it("come whole from the parts, and say where they are cut", () => {
    const [, whole] = read({ args: JSON.stringify(long.args), result: long.result });
    expect(whole).toMatchObject({ args: JSON.stringify(long.args), result: long.result, isCut: false });
    const [, shortened] = read({ result: cut });
    expect(shortened).toMatchObject({ args: previews.args_preview, result: cut, isCut: true });
    const [preview, without] = read({});
    expect([preview?.isCut, without?.isCut]).toEqual([true, true]);
    const [, own] = read({ result: `${"z".repeat(600)}…` });
    expect(own?.isCut).toBe(false);
  });

  it("keep the named values of arguments that end in one of them", () => {
    const text = JSON.stringify({ path: "a.md", content: 'He said: "\u0001' });
    expect(argFields(`${text.slice(0, -2)}…`)).toEqual([["content", 'He said: "\u0001…'], ["path", "a.md"]]);
    for (let end = text.indexOf("He"); end < text.length - 2; end += 1) {
      expect(argFields(`${text.slice(0, end)}…`)?.[1]).toEqual(["path", "a.md"]);
    }
    expect(argFields('{"path":"a.md","steps":["on…')).toBeNull();
  });

  it("have as many characters as the service keeps, whichever they are", () => {
    expect([beginning("🍐".repeat(DETAIL_CHARS), DETAIL_CHARS), beginning("🍐".repeat(DETAIL_CHARS + 1), DETAIL_CHARS)]).toEqual([
      "🍐".repeat(DETAIL_CHARS),
      `${"🍐".repeat(DETAIL_CHARS - 1)}…`,
    ]);
  });
});

describe("the parts of a stored message", () => {
  it("show what the live events showed", () => {
    const view = live.reduce(reduceTurn, newTurn("t"));
    expect(seen(view)[0]).toEqual([0, "reasoning", "Let me think.", true]);
    expect(seen(turnOf(stored))).toEqual(seen(view));
  });

  it("lose nothing where they or the tree were cut", () => {
    const nodes = stored.execution_tree!.nodes;
    const parts = [
      ...stored.parts!.slice(1, 3),
      { type: "call" as const, tool_call_id: "gone" },
      { type: "text" as const, text: "inside", parent_id: "gone" },
      { type: "tomorrow", text: "?" } as never,
    ];
    const view = turnOf({ ...stored, parts });
    expect(view.entries.map(({ id }) => id)).toEqual(["m/0", "a", "b", "a1"]);
    const other = turnOf({ ...stored, execution_tree: { version: 2, nodes } });
    expect(seen(other)).toEqual([
      [0, "reasoning", "Let me think.", true],
      [0, "text", "First I look.", true],
      [0, "text", "So it is.", true],
      [0, "summary", "They met.", true],
      [0, "summary", "", true],
    ]);
  });

  it("are missing in older messages: the text follows the calls", () => {
    const view = turnOf({ ...stored, parts: [] });
    expect(view.entries.map(({ id }) => id)).toEqual(["a", "b", "a1", "m"]);
  });
});

// Issue 20, section 3.
describe("a stored hook", () => {
  it("is the entry that its events gave", () => {
    const stored = callsOf(
      tree(
        node("h1", null, { name: "guard", result_preview: "not today", hook: { point: "action", decision: "block" } }),
        node("h2", null, { name: "reader", is_error: true, hook: { point: "result", decision: "allow", failed: true } }),
      ),
    );
    expect(stored).toMatchObject([
      { name: "guard", status: "done", result: "not today", hook: { decision: "block", failed: false } },
      { name: "reader", status: "error", hook: { decision: "allow", failed: true } },
    ]);
  });
});
