// What the page tells somebody who does not look at it. Issue 53, fault 5.

import { expect, it } from "vitest";
import type { TurnEvent } from "../wire";
import { outcomes } from "./outcome";

const told = (...events: object[]) => {
  const heard: string[] = [];
  const take = outcomes((what) => heard.push(what));
  for (const event of events) take(event as TurnEvent);
  return heard;
};
const done = (finish_reason: string) => ({ type: "done", finish_reason });

it("tells a wait, an end and a failure, and no stop", () => {
  expect(told({ type: "agent_state", state: "waiting_on_user" }, { type: "agent_state", state: "thinking" }, done("stop"))).toEqual(["waits", "ended"]);
  expect([told(done("error")), told(done("interrupted")), told(done("cancelled"))]).toEqual([["failed"], ["failed"], []]);
});

it("tells an answer that a limit ended as one that ended", () => {
  expect(told({ type: "error", code: "iteration_limit" }, done("error"))).toEqual(["ended"]);
  expect(told({ type: "error", code: "internal" }, done("error"))).toEqual(["failed"]);
});
