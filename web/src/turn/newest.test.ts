// Issue 53: while work is folded, a line for each part of it that runs says its newest words.

import { expect, it } from "vitest";
import { newestLines } from "./newest";
import { newTurn, type TextEntry, type ToolEntry } from "./view";

const call = (id: string, parentId: string | null, change: Partial<ToolEntry> = {}): ToolEntry => ({
  kind: "tool", id, parentId, depth: 0, name: "run_subtask", title: `Task ${id}`, status: "running", args: {}, result: null, isCut: false, startedMs: 0, durationMs: null, usage: null, sources: [], decision: null, ...change,
});
const text = (parentId: string, content: string): TextEntry => ({ kind: "text", id: `${parentId} text ${content}`, parentId, depth: 1, modelCallId: null, content, done: false });
const linesOf = (...entries: (ToolEntry | TextEntry)[]) => {
  const { lines, more } = newestLines({ ...newTurn("t"), entries });
  return [...lines.map(({ title, words }) => `${title}: ${words}`), more];
};

it("shows the subtasks that run, the innermost ones, with the end of their text", () => {
  expect(linesOf(call("a", null), call("b", "a"), text("b", "First.\n\n## Second half"), call("c", null, { status: "done" }), text("c", "Done."))).toEqual(["Task b: Second half", 0]);
});

it("shows the newest call of a subtask, and the calls of the answer itself", () => {
  const tool = { name: "fetch_page", title: null, args: { url: "https://example.com" } };
  expect(linesOf(call("a", null), call("b", "a", tool), call("c", null, tool))).toEqual(["Task a: fetch_page https://example.com", "fetch_page: https://example.com", 0]);
});

it("shows six lines, and says how many more there are", () => {
  const many = Array.from({ length: 8 }, (_, at) => call(`${at}`, null));
  expect(linesOf(...many)).toEqual([...Array.from({ length: 6 }, (_, at) => `Task ${at}: `), 2]);
  expect(linesOf(call("a", null), text("a", "x".repeat(200)))).toEqual([`Task a: …${"x".repeat(120)}`, 0]);
});
