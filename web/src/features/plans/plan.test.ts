// B-024 B-059 B-097 B-099 B-103 S-035 S-036 S-037 S-038 S-040 S-041 S-056: the page's part of plans.

import { describe, expect, it } from "vitest";
import { compose } from "../../feature";
import { reduceTurn } from "../../turn/reduce";
import { statusOf } from "../../turn/status";
import { turnOf } from "../../turn/stored";
import { newTurn, type TurnView } from "../../turn/view";
import type { StoredMessage, TreeNode, TurnEvent } from "../../wire";
import type { Plan, PlanStep } from "../../wire.generated";
import { plans } from ".";
import { aroundSteps, checklistOf, planCalls, plansOf, runningPlan, waitingPlan, type PlanEntry } from "./plan";

compose([plans]);

type Body<E = TurnEvent> = E extends TurnEvent ? { type: E["type"] } & Partial<Omit<E, "seq" | "turn_id">> : never;

const TURN = "turn";

function played(bodies: Body[], draft: Plan | null = null): TurnView {
  const events = bodies.map((body, at) => ({ ...body, seq: at + 1, turn_id: TURN }) as TurnEvent);
  const begun = { ...newTurn(TURN), features: { plans: { plans: [], draft } } };
  return events.reduce(reduceTurn, begun);
}

const step = (id: string, change: Partial<PlanStep> = {}): PlanStep => ({
  id,
  title: `Step ${id}`,
  instructions: `Do ${id}`,
  status: "pending",
  ...change,
});

const plan = (change: Partial<Plan> = {}): Plan => ({
  id: "p",
  objective: "ship",
  reasoning: "Because.",
  context_type: "project",
  execution_mode: "auto_execute",
  status: "pending_review",
  steps: [step("a"), step("b", { depends_on: ["a"] }), step("c", { depends_on: ["a", "b"] })],
  revision: 1,
  created_at: 0,
  ...change,
});

const begins = (id: string, name: string, args: object, parent: string | null = null): Body => ({
  type: "tool_call_update",
  tool_call_id: id,
  name,
  status: "start",
  args: args as Record<string, unknown>,
  parent_id: parent,
  depth: parent === null ? 0 : 1,
});

const ends = (id: string, name: string, result: string, is_error = false): Body => ({
  type: "tool_call_update",
  tool_call_id: id,
  name,
  status: "end",
  result,
  is_error,
  duration_ms: 5,
});

const stepArgs = (index: number) => ({ title: `Step ${"abc"[index]}`, plan_id: "p", step_id: "abc"[index], index, instructions: "…" });
const stepBegins = (index: number): Body[] => [
  begins(`s${index}`, "plan_step", stepArgs(index), "made"),
  { type: "step_start", plan_id: "p", step_id: "abc"[index]!, index, title: `Step ${"abc"[index]}`, tool_call_id: `s${index}` },
];
const stepEnds = (index: number, status: PlanStep["status"], result = "fine"): Body[] => [
  ends(`s${index}`, "plan_step", result, status === "failed" || status === "skipped"),
  { type: "step_complete", plan_id: "p", step_id: "abc"[index]!, index, status, result },
];

const made: Body[] = [
  begins("made", "agent_create_plan", { objective: "ship" }),
  { type: "plan_created", tool_call_id: "made", plan: plan() },
];
const executing: Body[] = [
  { type: "agent_state", state: "executing_plan", context_type: "project" },
  { type: "executor_start", plan_id: "p", steps: 3 },
];

/** The plans as a reader sees them: by call, the states of the steps with the calls that run them. */
function sketch(view: TurnView) {
  return [...planCalls(view)].map(([callId, shown]) => [
    callId,
    shown.status,
    ...checklistOf(shown, view.entries.filter(({ parentId }) => parentId === callId)).map(
      ({ number, state, call }) => `${number} ${state} ${call?.id ?? ""}`.trim(),
    ),
  ]);
}

function stored(nodes: Partial<TreeNode>[], plans: Plan[]): TurnView {
  const tree = {
    version: 1,
    nodes: nodes.map((node) => ({ id: "made", parent_id: null, name: "agent_create_plan", duration_ms: 1, ...node })),
    plans,
  };
  return turnOf({ id: "m", turn_id: TURN, role: "assistant", content: "", created_at: 0, execution_tree: tree } as StoredMessage);
}

const stepNode = (index: number, change: Partial<TreeNode> = {}): Partial<TreeNode> => ({
  id: `s${index}`,
  parent_id: "made",
  name: "plan_step",
  title: `Step ${"abc"[index]}`,
  args_preview: JSON.stringify(stepArgs(index)),
  ...change,
});

const turn = (turnId: string, answer: TurnView) => ({ turnId, answer });

describe("a plan that runs", () => {
  it("is a checklist whose steps are the calls of the tree", () => {
    expect(sketch(played(made))).toEqual([["made", "pending_review", "1 pending", "2 pending", "3 pending"]]);
    const running = played([...made, ...executing, ...stepBegins(0)]);
    expect(sketch(running)).toEqual([["made", "executing", "1 active s0", "2 pending", "3 pending"]]);
    const next = played([...made, ...executing, ...stepBegins(0), ...stepEnds(0, "completed"), ...stepBegins(1)]);
    expect(sketch(next)).toEqual([["made", "executing", "1 done s0", "2 active s1", "3 pending"]]);
  });

  it("names its running steps in the status chip", () => {
    const view = played([...made, ...executing, ...stepBegins(0), ...stepEnds(0, "completed"), ...stepBegins(1), ...stepBegins(2)]);
    const { key, label, words } = statusOf(view, "open", false);
    expect([key, label]).toEqual(["plan", "Running plan · steps 2, 3 of 3"]);
    expect(words).toContain("1 of 3 steps are done. Now: 2. Step b; 3. Step c.");
    expect(statusOf(played([...made, ...executing]), "open", false).label).toBe("Running plan");
    const making = played([{ type: "agent_state", state: "thinking", context_type: "project", details: "executing_tool:agent_create_plan" }]);
    expect(statusOf(making, "open", false).label).toBe("Making a plan");
  });

});

describe("the checklist of a plan", () => {
  it("is the same live and stored, whatever the states of its steps", () => {
    const live = played([
      ...made,
      ...executing,
      ...stepBegins(0),
      ...stepEnds(0, "partial"),
      ...stepBegins(1),
      ...stepEnds(1, "failed", "no"),
      { type: "executor_complete", plan_id: "p", status: "partial", completed: 1, failed: 1, skipped: 1 },
      ends("made", "agent_create_plan", JSON.stringify({ status: "partial", plan_id: "p" })),
      { type: "done", message_id: "m", finish_reason: "stop" },
    ]);
    const steps = [step("a", { status: "partial" }), step("b", { status: "failed" }), step("c", { status: "skipped" })];
    const read = stored(
      [{ result_preview: '{"next":"…","plan_id":"p","reasoning":"cut o…' }, stepNode(0), stepNode(1, { is_error: true })],
      [plan({ status: "partial", steps })],
    );
    expect(sketch(live)).toEqual([["made", "partial", "1 partial s0", "2 error s1", "3 skipped"]]);
    expect(sketch(read)).toEqual(sketch(live));
  });

  it("has no active step after a stop, live and stored", () => {
    const live = played([
      ...made,
      ...executing,
      ...stepBegins(0),
      ...stepEnds(0, "skipped", "stopped"),
      ends("made", "agent_create_plan", "The call was stopped", true),
      { type: "done", message_id: "m", finish_reason: "cancelled" },
    ]);
    expect(sketch(live)).toEqual([["made", "stopped", "1 error s0", "2 skipped", "3 skipped"]]);
    expect(runningPlan(live)).toBeNull();
    const read = stored(
      // The result does not name the plan; its steps do.
      [{ result_preview: "The call was stopped" }, stepNode(0, { is_error: true })],
      [plan({ status: "stopped", steps: [step("a", { status: "failed" }), step("b"), step("c")] })],
    );
    expect(sketch(read)).toEqual(sketch(live));
  });

});

describe("the steps of a plan", () => {
  it("keep their index, even with a title that looks like one", () => {
    const title = '","index":2,"x":"';
    const args = JSON.stringify({ ...stepArgs(1), title });
    const [[, , ...states] = []] = sketch(stored([{ result_preview: '"plan_id":"p"' }, stepNode(1, { title, args_preview: args })], [plan({ status: "completed" })]));
    expect(states).toEqual(["1 skipped", "2 done s1", "3 skipped"]);
    const sorted = JSON.stringify({ index: 1, instructions: "x".repeat(9), title });
    const [[, , ...long] = []] = sketch(stored([{ result_preview: '"plan_id":"p"' }, stepNode(1, { title, args_preview: sorted })], [plan({ status: "completed" })]));
    expect(long).toEqual(states);
  });

  it("stand apart from the call that handed in the plan, unless it failed", () => {
    const view = played([
      ...made,
      begins("bad", "finish_subtask", {}, "made"),
      ends("bad", "finish_subtask", "steps: expected", true),
      begins("good", "finish_subtask", {}, "made"),
      ends("good", "finish_subtask", "ok"),
      ...stepBegins(0),
    ]);
    expect(aroundSteps(view.entries.filter(({ parentId }) => parentId === "made")).map(({ id }) => id)).toEqual(["bad"]);
  });

  it("name the steps on which they depend by number", () => {
    expect(checklistOf(plan(), []).map(({ after }) => after)).toEqual([[], [1], [1, 2]]);
  });
});

describe("a swarm", () => {
  const swarm: Body[] = [
    begins("made", "agent_create_plan", { objective: "ship" }),
    { type: "swarmPlanReady", steps: ["Step a", "Step b"] },
    { type: "agent_state", state: "executing_plan", context_type: "thread" },
    begins("s0", "plan_step", stepArgs(0), "made"),
    { type: "swarmStepStarted", stepIndex: 0, description: "Step a" },
    begins("t", "calculate", { expression: "1+1" }, "s0"),
    ends("t", "calculate", "2"),
    { type: "swarmToolExecuted", stepIndex: 0, tool: "calculate", briefResult: "2" },
  ];
  const over: Body[] = [
    ends("s0", "plan_step", "fine"),
    { type: "swarmStepCompleted", stepIndex: 0, result: "fine", status: "partial" },
    begins("s1", "plan_step", stepArgs(1), "made"),
    { type: "swarmStepStarted", stepIndex: 1, description: "Step b" },
    ends("s1", "plan_step", "no", true),
    { type: "swarmStepCompleted", stepIndex: 1, result: "no", status: "failed" },
    ends("made", "agent_create_plan", JSON.stringify({ status: "partial", plan_id: "p", reasoning: "Because." })),
    { type: "swarmComplete", result: "All." },
    { type: "done", message_id: "m", finish_reason: "stop" },
  ];

  it("has its steps on the same checklist, with their calls below them", () => {
    const view = played(swarm);
    expect(sketch(view)).toEqual([["made", "executing", "1 active s0", "2 pending"]]);
    expect(plansOf(view).plans[0]?.plan.objective).toBe("ship");
    expect(view.entries.filter(({ parentId }) => parentId === "s0").map(({ id }) => id)).toEqual(["t"]);
    expect(statusOf(view, "open", false).label).toBe("Running plan · step 1 of 2");
  });

  it("is the same live and stored", () => {
    const live = played([...swarm, ...over]);
    expect(sketch(live)).toEqual([["made", "partial", "1 partial s0", "2 error s1"]]);
    const steps = [step("a", { status: "partial" }), step("b", { status: "failed" })];
    const read = stored([{ result_preview: '"plan_id":"p"' }, stepNode(0), stepNode(1, { is_error: true })], [plan({ status: "partial", steps })]);
    expect(sketch(read)).toEqual(sketch(live));
    const words = ({ plan: { id, objective, reasoning } }: PlanEntry) => [id, objective, reasoning];
    expect(plansOf(live).plans.map(words)).toEqual(plansOf(read).plans.map(words));
  });

  it("that is stopped leaves no step active", () => {
    const view = played([...swarm, ends("s0", "plan_step", "stopped", true), ends("made", "agent_create_plan", "The call was stopped", true), { type: "done", message_id: "m", finish_reason: "cancelled" }]);
    expect(sketch(view)).toEqual([["made", "stopped", "1 error s0", "2 skipped"]]);
  });
});

describe("a draft", () => {
  const drafted: Body[] = [
    ...made,
    { type: "plan_ready_for_review", plan: plan() },
    ends("made", "agent_create_plan", JSON.stringify({ status: "pending_review", plan_id: "p" })),
    { type: "agent_state", state: "waiting_on_user", context_type: "project" },
    { type: "done", message_id: "m", finish_reason: "stop" },
  ];
  const acts = (action: string) => begins("acts", "agent_update_plan", { plan_id: "p", action });

  it("waits until a later turn acts on it, however many turns come between", () => {
    const one = turn("1", played(drafted));
    const other = turn("2", played([{ type: "done", message_id: "n", finish_reason: "stop" }]));
    expect(waitingPlan([one])?.turnId).toBe("1");
    expect(waitingPlan([one, other])?.turnId).toBe("1");
    expect(waitingPlan([one, turn("3", played([acts("run"), ...executing], plan()))])).toBeNull();
    expect(waitingPlan([])).toBeNull();
  });

  it("that a turn changed waits in that turn", () => {
    const change: Body[] = [acts("change"), { type: "plan_ready_for_review", plan: plan({ revision: 2, steps: [step("z")] }) }];
    const view = played(change, plan());
    expect(sketch(view)).toEqual([["acts", "pending_review", "1 pending"]]);
    expect(waitingPlan([turn("1", played(drafted)), turn("2", view)])).toMatchObject({ turnId: "2", plan: { revision: 2 } });
  });

  it("that a turn dropped no longer waits", () => {
    const dropped = played([acts("drop"), ends("acts", "agent_update_plan", '{"plan_id":"p","status":"dropped"}')], plan());
    expect(sketch(dropped)).toEqual([["acts", "dropped", "1 pending", "2 pending", "3 pending"]]);
    expect(waitingPlan([turn("1", played(drafted)), turn("2", dropped)])).toBeNull();
  });

  it("that a turn runs keeps the steps of the earlier turn", () => {
    const view = played([acts("run"), ...executing, begins("s0", "plan_step", stepArgs(0), "acts")], plan());
    expect(sketch(view)).toEqual([["acts", "executing", "1 active s0", "2 pending", "3 pending"]]);
    const nodes = [
      { id: "acts", name: "agent_update_plan", args_preview: '{"plan_id": "p", "action": "run"}' },
      stepNode(0, { parent_id: "acts" }),
    ];
    expect(sketch(stored(nodes, [plan({ status: "stopped" })]))).toEqual([["acts", "stopped", "1 done s0", "2 skipped", "3 skipped"]]);
  });

});

describe("a plan after its review", () => {
  it("has the reviewer's verdict, live and stored", () => {
    const review = { verdict: "needs_changes" as const, notes: "Say who." };
    const view = played([...made, { type: "plan_review", plan_id: "p", ...review }]);
    expect(plansOf(view).plans[0]?.plan.review).toEqual(review);
    expect(waitingPlan([turn("1", view)])?.plan.review).toEqual(review);
    const refused = played([...made, { type: "plan_review", plan_id: "p", verdict: "rejected", notes: "" }]);
    expect([plansOf(refused).plans[0]?.plan.status, waitingPlan([turn("1", refused)])]).toEqual(["rejected", null]);
  });

  it("is not changed by events and results of unknown plans", () => {
    const odd: Body[] = [
      { type: "executor_start", plan_id: "?", steps: 9 },
      { type: "step_complete", plan_id: "?", step_id: "a", index: 0, status: "completed", result: "" },
      { type: "plan_review", plan_id: "?", verdict: "approved", notes: "" },
      ends("x", "agent_update_plan", "no plan was made: [1,"),
      ends("y", "agent_create_plan", "null"),
    ];
    expect(plansOf(played(odd)).plans).toEqual([]);
  });
});
