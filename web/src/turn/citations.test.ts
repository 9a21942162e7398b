import { expect, it } from "vitest";
import { citationsOf, sourcesOf } from "./citations";
import { callsOf } from "./stored";
import { newTurn, type ToolEntry } from "./view";

const call = (result: string, change: { name?: string; is_error?: boolean } = {}): ToolEntry =>
  callsOf({ version: 1, nodes: [{ id: result, parent_id: null, name: "search_collection", result_preview: result, duration_ms: 1, ...change }] })[0]!;

const FOUND = [
  '["guide \\"x\\".md", part 1, document d1]\none',
  '["fro\\u{200b}st\\\\.html", part 12, under "Guide > Run", document d2]\ntwo\n\nin two paragraphs',
  "[and 3 more: ask for fewer, with a narrower query]",
].join("\n\n");

it("takes the passages apart, with what they are cited by", () => {
  expect(citationsOf(call(FOUND))).toEqual([
    { document: 'guide "x".md', part: 1, heading: "", text: "one" },
    {
      document: "fro\u200bst\\.html",
      part: 12,
      heading: "Guide > Run",
      text: "two\n\nin two paragraphs",
    },
  ]);
});

it("finds nothing in other results", () => {
  const others = [call("no passage has these words; try others"), call(FOUND, { name: "read_file" }), call(FOUND, { is_error: true }), call('["a.md", part 1'), call("")];
  expect(others.flatMap(citationsOf)).toEqual([]);
});

it("names each document once", () => {
  const entries = [call(FOUND), call('["guide \\"x\\".md", part 3, document d1]\nthree'), call("[x]")];
  expect(sourcesOf({ ...newTurn("t"), entries })).toEqual(['guide "x".md', "fro\u200bst\\.html"]);
});
