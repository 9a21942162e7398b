// Issue 21: a session as a checklist, live and after a reload. W-021 W-042

import { describe, expect, it } from "vitest";
import type { WorkflowSession } from "../../../wire.generated";
import type { News } from "../knowledge";
import { canGoOn, isOver, shown, type Shown } from "./checklist";

const session = (change: Partial<WorkflowSession> = {}): WorkflowSession => ({
  session_id: "s",
  workflow_id: "report",
  version: 2,
  name: "Report",
  mode: "service",
  status: "waiting",
  goal: "Pears",
  step: 1,
  steps: [
    { id: "a", title: "Ask" },
    { id: "b", title: "Look" },
    { id: "c", title: "Write" },
  ],
  notes: [{ step_id: "a", notes: "Asked." }],
  updated_at: 1,
  ...change,
});

const news = (seq: number, change: Partial<News> = {}): News => ({
  type: "workflow_update",
  seq,
  turn_id: "t",
  session_id: "s",
  workflow_id: "report",
  status: "running",
  step_id: "c",
  index: 2,
  of: 3,
  ...change,
});

/** A checklist in a line: each step's title, its state, and whether it has notes. */
const sketch = (drawn: Shown | null) =>
  drawn && `${drawn.name} ${drawn.status} ${drawn.reason}: ${drawn.steps.map(({ title, state, notes }) => `${title} ${state}${notes ? "+" : ""}`).join(", ")}`;

describe("a session", () => {
  it("is drawn as the service kept it", () => {
    expect(sketch(shown(session(), 9, null))).toBe("Report waiting null: Ask done+, Look waiting, Write ahead");
    const states = (["running", "needs_human_review", "stuck", "failed"] as const).map((status) => shown(session({ status }), 9, null)?.steps[1]?.state);
    expect(states).toEqual(["current", "review", "stuck", "failed"]);
    expect(sketch(shown(session({ status: "complete", step: 3 }), 9, null))).toBe("Report complete null: Ask done+, Look done, Write done");
    expect(shown(null, 9, null)).toBeNull();
  });

  it("goes on with the news that came after it was read, and with no other", () => {
    expect(sketch(shown(session(), 9, news(10, { reason: "retry" })))).toBe("Report running retry: Ask done+, Look done, Write current");
    // It was read with this news: what the service kept is at least as new.
    expect(sketch(shown(session({ reason: "no_advance", status: "stuck" }), 10, news(10)))).toBe("Report stuck no_advance: Ask done+, Look stuck, Write ahead");
  });

  it("has steps without titles until it was read", () => {
    const fresh = shown(null, 0, news(3, { index: 0, of: 2 }));
    expect(sketch(fresh)).toBe("null running null: null current, null ahead");
    // Another session than the one that was read.
    expect(sketch(shown(session({ session_id: "old", status: "complete" }), 9, news(10, { index: 1 })))).toBe("null running null: null done, null current, null ahead");
  });

  it("is the same live and after a reload", () => {
    const live = shown(session({ step: 2, notes: [] }), 9, news(12, { status: "stuck", reason: "no_advance", index: 2 }));
    const read = shown(session({ step: 2, notes: [], status: "stuck", reason: "no_advance" }), 12, null);
    expect(live).toEqual(read);
  });
});

it("goes on by a message while it is open, no turn runs, and no other app carries it out", () => {
  const can = (change: Partial<WorkflowSession>, isRunning = false) => canGoOn(shown(session(change), 1, null)!, isRunning);
  expect((["waiting", "stuck", "needs_human_review", "running"] as const).map((status) => can({ status }))).toEqual([true, true, true, true]);
  expect((["complete", "failed"] as const).map((status) => [can({ status }), isOver({ status })])).toEqual([[false, true], [false, true]]);
  expect([can({}, true), can({ mode: "external" })]).toEqual([false, false]);
});
