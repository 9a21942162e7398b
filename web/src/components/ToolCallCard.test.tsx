// N-014 N-134: the cards that are open at first.

import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { childrenOf, outlineOf } from "../turn/outline";
import { callsOf } from "../turn/stored";
import { isDenied } from "../turn/view";
import type { Decision } from "../wire";
import { Entries } from "./Entries";
import { argsGist } from "./gist";

function drawn(...nodes: [id: string, parent: string | null, name: string][]): string[] {
  const calls = callsOf({
    version: 1,
    nodes: nodes.map(([id, parent_id, name]) => ({ id, parent_id, name, duration_ms: 1 })),
  });
  const outline = outlineOf(calls);
  const html = renderToStaticMarkup(
    <Entries entries={childrenOf(outline, null)} outline={outline} />,
  );
  return [...html.matchAll(/data-tool-call-id="(\w+)" data-depth="(\d)".*?aria-expanded="(\w+)"/g)].map(
    ([, id, depth, open]) => `${id} ${depth} ${open}`,
  );
}

it("shows the most telling argument in the head of a card", () => {
  const gist = (args_preview: string) =>
    argsGist(callsOf({ version: 1, nodes: [{ id: "a", parent_id: null, name: "write_file", args_preview, duration_ms: 1 }] })[0]!);
  expect(['{"content":"long","path":"a.md"}', '{"expression":"1 +  1"}', "{}", '{"content":"cut of'].map(gist)).toEqual(["a.md", "1 + 1", "", ""]);
});

it("opens a subtask at the root, so that the headers of its cards are seen", () => {
  expect(drawn(["a", null, "run_subtask"], ["b", "a", "calculate"])).toEqual(["a 0 true", "b 1 false"]);
});

it("folds a subtask below the root, and does not draw its calls", () => {
  expect(
    drawn(["a", null, "run_subtask"], ["b", "a", "run_subtask"], ["c", "b", "calculate"]),
  ).toEqual(["a 0 true", "b 1 false"]);
});

it("shows the calls inside any call at the root", () => {
  expect(drawn(["a", null, "another_loop"], ["b", "a", "another_step"], ["c", "b", "calculate"])).toEqual(["a 0 true", "b 1 false"]);
});

it("folds a plain call behind its header, at the root too", () => {
  expect(drawn(["a", null, "calculate"])).toEqual(["a 0 false"]);
});

it("knows a call that a person denied", () => {
  const denied = (result_preview: string, is_error: boolean) =>
    isDenied(callsOf({ version: 1, nodes: [{ id: "a", parent_id: null, name: "fetch_page", result_preview, is_error, duration_ms: 1 }] })[0]!);
  const words = "The user did not allow this call, so it was not made.";
  expect([denied(words, true), denied(words, false), denied("It failed.", true)]).toEqual([true, false, false]);
});

it("knows it by the decision, whatever the words of the result are", () => {
  const node = { id: "a", parent_id: null, name: "fetch_page", duration_ms: 1 };
  const denied = (decision: Decision, is_error: boolean) => isDenied(callsOf({ version: 1, nodes: [{ ...node, decision, is_error, result_preview: "No." }] })[0]!);
  expect([denied("deny", true), denied("expired", true), denied("approve", true), denied("standing", false)]).toEqual([true, false, false, false]);
});
