// N-123 N-124 N-125 N-128 N-133

import { describe, expect, it } from "vitest";
import type { TreeNode, StoredMessage } from "../wire";
import { childrenOf, outlineOf } from "./outline";
import { begunExchange, callsOf, exchangesOf, questionIdOf, renewed, turnOf } from "./stored";

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
