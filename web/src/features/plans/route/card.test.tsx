// Issue 53, fault 14: the card of the router says its decision in words.

import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { routeCard } from "./card";

const card = (result: string | null, status: "running" | "done" = "done") => {
  const { title, gist, body } = routeCard({ result, status });
  return [title, gist(false), renderToStaticMarkup(<>{body}</>)];
};

it("says the decision and its reason, and shows no JSON", () => {
  expect(card('{"role":"primary","complexity":"simple","reason":"It has several parts."}')).toEqual([
    "Simple task", "It has several parts.", '<p class="tool-none" dir="auto">It has several parts.</p>',
  ]);
  expect(card('{"complexity":"complex"}').slice(0, 2)).toEqual(["Complex task: planned first", ""]);
});

it.each([[null, "running", "Choosing how to work"], ["not JSON", "done", "Chose how to work"], ["null", "done", "Chose how to work"], ['{"complexity":7}', "done", "Chose how to work"]] as const)(
  "%s is no decision",
  (result, status, title) => expect(card(result, status).slice(0, 2)).toEqual([title, ""]),
);
