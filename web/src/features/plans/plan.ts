// The plans of a turn. A step runs as a call inside the call that made or ran its plan. The checklist is drawn from the
// plan and from these calls, so the checklist and the tree say the same, live and stored.

import type { Turns } from "../../feature";
import { callsIn, type ToolEntry, type TurnEntry, type TurnView } from "../../turn/view";
import type { StoredMessage, TurnEvent } from "../../wire";
import type { Plan, PlanStep } from "../../wire.generated";

/** A plan that the turn made or acted on. */
export interface PlanEntry {
  plan: Plan;
  /** The call that made it, where an event named the call. */
  callId: string | null;
}

/** This feature's knowledge of a turn. */
export interface PlansOfTurn {
  plans: readonly PlanEntry[];
  /** The draft of an earlier turn that waited for the user's word when this turn began here. */
  draft: Plan | null;
}

const NO_PLANS: PlansOfTurn = { plans: [], draft: null };

export function plansOf(view: TurnView): PlansOfTurn {
  return (view.features["plans"] as PlansOfTurn | undefined) ?? NO_PLANS;
}

/** The events of a turn that runs an earlier draft do not tell its steps again: the turn gets the draft along. */
export function draftFor(before: Turns): PlansOfTurn {
  const draft = waitingPlan(before)?.plan;
  return draft ? { plans: [], draft } : NO_PLANS;
}

export function plansStored({ execution_tree }: StoredMessage): PlansOfTurn {
  return { plans: (execution_tree?.plans ?? []).map((plan) => ({ plan, callId: null })), draft: null };
}

export const MAKES_PLANS = "agent_create_plan";
const ACTS_ON_PLANS = "agent_update_plan";
export const STEP_TOOL = "plan_step";
/** The tool by which the planner and the reviewer hand in their results. */
const HANDS_IN = "finish_subtask";

export function isPlanStep({ name }: ToolEntry): boolean {
  return name === STEP_TOOL;
}

export function plansAfter(view: TurnView, event: TurnEvent): PlansOfTurn {
  const known = plansOf(view);
  const plans = changedBy(view, known, event);
  return plans === known.plans ? known : { ...known, plans };
}

/** Most events concern no plan, and leave the list as it is. */
function changedBy(view: TurnView, known: PlansOfTurn, event: TurnEvent): readonly PlanEntry[] {
  const { plans } = known;
  switch (event.type) {
    case "plan_created":
      return put(plans, { plan: event.plan, callId: event.tool_call_id });
    case "plan_ready_for_review":
      return put(plans, { plan: event.plan, callId: null });
    case "plan_review": {
      const { verdict, notes } = event;
      return changed(known, event.plan_id, (plan) => ({
        ...plan,
        status: verdict === "rejected" ? "rejected" : plan.status,
        review: { verdict, notes },
      }));
    }
    case "executor_start":
      return changed(known, event.plan_id, (plan) => ({ ...plan, status: "executing" }));
    case "step_complete":
      return changed(known, event.plan_id, (plan) => withStep(plan, event.index, { status: event.status }));
    case "executor_complete":
      return changed(known, event.plan_id, (plan) => ({ ...plan, status: event.status, steps: plan.steps.map(skipped) }));
    case "swarmPlanReady":
      return [...plans, swarmPlan(view, event.steps)];
    case "swarmStepCompleted":
      // A swarm has one plan, and these events do not name it.
      return plans.map((entry) => ({ ...entry, plan: withStep(entry.plan, event.stepIndex, { status: event.status }) }));
    case "tool_call_update":
      return event.status === "end" && [MAKES_PLANS, ACTS_ON_PLANS].includes(event.name)
        ? told(known, event.tool_call_id, event.result ?? "")
        : plans;
    case "done":
      return plans.map((entry) =>
        entry.plan.status === "executing" ? { ...entry, plan: { ...entry.plan, status: "stopped" } } : entry,
      );
    default:
      return plans;
  }
}

function put(plans: readonly PlanEntry[], { plan, callId }: PlanEntry): readonly PlanEntry[] {
  const at = plans.findIndex((entry) => entry.plan.id === plan.id);
  const known = plans[at];
  return known ? plans.with(at, { plan, callId: callId ?? known.callId }) : [...plans, { plan, callId }];
}

/** Changes a plan of this turn, or the earlier draft on which this turn acts. */
function changed({ plans, draft }: PlansOfTurn, id: string, change: (plan: Plan) => Plan): readonly PlanEntry[] {
  const plan = plans.find((entry) => entry.plan.id === id)?.plan ?? (draft?.id === id ? draft : null);
  return plan ? put(plans, { plan: change(plan), callId: null }) : plans;
}

function withStep(plan: Plan, index: number, change: Partial<PlanStep>): Plan {
  return { ...plan, steps: plan.steps.map((step, at) => (at === index ? { ...step, ...change } : step)) };
}

function skipped(step: PlanStep): PlanStep {
  return step.status === "pending" ? { ...step, status: "skipped" } : step;
}

/** A swarm's event has only the titles of its steps. Its calls look like those of any plan. */
function swarmPlan(view: TurnView, titles: readonly string[]): PlanEntry {
  const call = callsIn(view).findLast(({ name }) => name === MAKES_PLANS);
  const objective = typeof call?.args === "object" ? call.args?.["objective"] : null;
  const plan: Plan = {
    id: NAMELESS,
    objective: typeof objective === "string" ? objective : "",
    reasoning: "",
    context_type: "",
    execution_mode: "auto_execute",
    status: "executing",
    steps: titles.map((title, at) => ({ id: `${at}`, title, instructions: "", status: "pending" })),
    revision: 0,
    created_at: 0,
  };
  return { plan, callId: call?.id ?? null };
}

const NAMELESS = "";

interface Told {
  plan_id: string;
  status: Plan["status"];
  reasoning?: string;
}

/** Reads the plan's status from a call's result. No event tells that a plan was dropped, or names the plan of a swarm. */
function told(known: PlansOfTurn, callId: string, result: string): readonly PlanEntry[] {
  let answer: Partial<Told> | null;
  try {
    answer = JSON.parse(result) as Partial<Told> | null;
  } catch {
    return known.plans;
  }
  const { plan_id: id, status, reasoning } = answer ?? {};
  if (!id || !status) return known.plans;
  const plans = known.plans.map((entry) =>
    entry.callId === callId && entry.plan.id === NAMELESS ? { ...entry, plan: { ...entry.plan, id, reasoning: reasoning ?? "" } } : entry,
  );
  return changed({ ...known, plans }, id, (plan) => ({ ...plan, status }));
}

const NONE: ReadonlyMap<string, Plan> = new Map();

/**
 * The plans by the calls that show them. The last call that names a plan shows it. A call that was stopped names none:
 * the last such call shows a plan without a name.
 */
export function planCalls(view: TurnView): ReadonlyMap<string, Plan> {
  const { plans } = plansOf(view);
  if (plans.length === 0) return NONE;
  const making = callsIn(view).filter(({ name }) => name === MAKES_PLANS || name === ACTS_ON_PLANS);
  const named = making.map((call) => ({ id: call.id, name: call.name, planId: planIdIn(call) }));
  const shown = plans.map(({ plan, callId }) => {
    const call =
      named.findLast(({ id, planId }) => planId === plan.id || id === callId) ??
      named.findLast(({ name, planId }) => planId === null && name === MAKES_PLANS);
    return [call?.id ?? "", plan] as const;
  });
  return new Map(shown);
}

/** Looks in the arguments and in the result. Both may be previews, which end anywhere. */
function planIdIn({ args, result }: ToolEntry): string | null {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  const found = /"plan_id":\s*"([^"\\]+)"/;
  return found.exec(text)?.[1] ?? found.exec(result ?? "")?.[1] ?? null;
}

/** The entries inside a plan's call that led to the plan: all but its steps. */
export function aroundSteps(inside: readonly TurnEntry[]): TurnEntry[] {
  return inside.filter((entry) => entry.kind !== "tool" || !(isPlanStep(entry) || (entry.name === HANDS_IN && entry.status === "done")));
}

export type StepState = "pending" | "active" | "done" | "partial" | "error" | "skipped";

export interface ChecklistItem {
  step: PlanStep;
  /** From 1 on. */
  number: number;
  state: StepState;
  /** The call that carries it out, once it has begun. */
  call: ToolEntry | null;
  /** The numbers of the steps that it builds on. */
  after: number[];
}

/** A plan's steps, each with its state. `inside`: the entries inside the call that shows the plan. */
export function checklistOf(plan: Plan, inside: readonly TurnEntry[]): ChecklistItem[] {
  const calls = inside.filter((entry) => entry.kind === "tool" && isPlanStep(entry)) as ToolEntry[];
  return plan.steps.map((step, index) => {
    const call = calls.find((each) => indexIn(each) === index) ?? null;
    const after = (step.depends_on ?? []).map((id) => plan.steps.findIndex((other) => other.id === id) + 1);
    return { step, number: index + 1, state: stateOf(plan, step, call), call, after: after.filter((number) => number > 0) };
  });
}

function indexIn({ args }: ToolEntry): number | null {
  if (typeof args === "object") return typeof args?.["index"] === "number" ? args["index"] : null;
  // A preview has the members as the service wrote them, and long arguments have them by name. JSON escapes quotation marks
  // within the title, so this finds the member itself.
  const found = /(?:^\{|",)"index":(\d+)/.exec(args);
  return found ? Number(found[1]) : null;
}

function stateOf(plan: Plan, { status }: PlanStep, call: ToolEntry | null): StepState {
  if (call?.status === "running") return "active";
  if (call?.status === "error" || status === "failed") return "error";
  if (status === "partial") return "partial";
  if (call || status === "completed") return "done";
  const over = ["completed", "partial", "failed", "stopped"].includes(plan.status);
  return status === "skipped" || over ? "skipped" : "pending";
}

export function ended({ state }: ChecklistItem): boolean {
  return state === "done" || state === "partial";
}

/** The plan that runs now, with its steps; null where none runs. */
export function runningPlan(view: TurnView): { plan: Plan; items: ChecklistItem[] } | null {
  const plan = plansOf(view).plans.findLast((entry) => entry.plan.status === "executing")?.plan;
  if (!plan) return null;
  const call = [...planCalls(view)].find(([, shown]) => shown === plan)?.[0];
  return { plan, items: checklistOf(plan, view.entries.filter(({ parentId }) => parentId === call)) };
}

/** The newest draft on which no later turn acted, and the turn that left it. It waits for the user's word. */
export function waitingPlan(turns: Turns): { plan: Plan; turnId: string } | null {
  let waiting: { plan: Plan; turnId: string } | null = null;
  for (const { turnId, answer } of turns) {
    for (const { plan } of answer ? plansOf(answer).plans : []) {
      if (plan.status === "pending_review") waiting = { plan, turnId };
      else if (plan.id === waiting?.plan.id) waiting = null;
    }
  }
  return waiting;
}
