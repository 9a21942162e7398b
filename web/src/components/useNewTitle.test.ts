// When the page looks for the title that a model gives a chat.

import { expect, it } from "vitest";
import { newTurn, type TurnView } from "../turn/view";
import { hasFirstAnswer, READ_AGAIN_MS } from "./useNewTitle";

type Finish = TurnView["finishReason"];

const isFirst = (...ends: (Finish | "lost")[]) =>
  hasFirstAnswer(ends.map((end) => ({ answer: end === "lost" ? null : { ...newTurn("t"), finishReason: end } })));

it("takes the first answer that a model finished, whatever the turns before it came to", () => {
  expect(isFirst("stop")).toBe(true);
  for (const end of ["cancelled", "error", "interrupted", "length", "budget", "lost"] as const) {
    expect(isFirst(end)).toBe(false);
    expect(isFirst(end, "stop")).toBe(true);
    expect(isFirst("stop", end, "stop")).toBe(false);
  }
});

it("takes it while the next turn runs already", () => {
  expect(isFirst("stop", null)).toBe(true);
});

it("reads few times, and once more after two calls of 30 s with ten seconds between them", () => {
  expect(READ_AGAIN_MS.length).toBeLessThanOrEqual(5);
  expect(READ_AGAIN_MS.at(-1)).toBeGreaterThan(70_000);
});
