// The arguments of the calls of a session, whole and cut anywhere.

import { expect, it } from "vitest";
import { firstLine, listOf, membersOf, objectIn, textOf } from "./arguments";

const ARGS = { notesMarkdown: 'Read "both" reports:\n- one\n- two é🌳', artifacts: ["a.md"], contextUpdates: { n: 1 } };

it("reads live and stored arguments alike", () => {
  expect(membersOf({ args: ARGS })).toBe(ARGS);
  expect(membersOf({ args: JSON.stringify(ARGS) })).toEqual(ARGS);
  expect(membersOf({ args: null })).toEqual({});
});

it("reads the notes of arguments that are cut at any place, as far as they go", () => {
  const json = JSON.stringify(ARGS);
  const begins = json.indexOf("Read");
  for (let at = begins; at <= json.length; at += 1) {
    for (const cut of [json.slice(0, at), `${json.slice(0, at)}…`]) {
      const notes = textOf(membersOf({ args: cut }), "notesMarkdown");
      const begun = notes.replace(/…$/, "").replace(/[\ud800-\udbff]$/, "");
      expect(ARGS.notesMarkdown.startsWith(begun), cut).toBe(true);
      if (at > json.indexOf("artifacts") + 2) expect(begun, cut).toBe(ARGS.notesMarkdown);
    }
  }
});

it("finds texts and lists only where they are", () => {
  expect([textOf({ a: 1, b: "two" }, "a", "b"), textOf({}, "a"), listOf({ a: [1], b: "x" }, "a"), listOf({ b: "x" }, "b")]).toEqual(["two", "", [1], []]);
  expect([objectIn("[1]"), objectIn("no"), objectIn(null), objectIn('{"a":1}')]).toEqual([null, null, null, { a: 1 }]);
});

it("shows the first line that has words and is no heading", () => {
  expect(["# Title\n\ntext", "\n---\n- **two** things", "", "x".repeat(300)].map((text) => firstLine(text))).toEqual(["text", "two things", "", "x".repeat(120)]);
});
