// The plans of a turn. Their steps are calls like others: the checklist is drawn from the plan and from the calls that
// lie inside the one that made or ran it, so it says the same as the tree, live and stored.

import type { Plan, PlanReview, PlanStep, TurnEvent } from "../wire";
import { callsIn, type PlanEntry, type ToolEntry, type TurnEntry, type TurnView } from "./view";

export const MAKES_PLANS = "agent_create_plan";
const ACTS_ON_PLANS = "agent_update_plan";
export const STEP_TOOL = "plan_step";
/** How those who make and review plans hand in what they made. */
const HANDS_IN = "finish_subtask";

export function isPlanStep({ name }: ToolEntry): boolean {
  return name === STEP_TOOL;
}

/** The plans after an event; most events have nothing to say of them. */
export function plansAfter(view: TurnView, event: TurnEvent): PlanEntry[] {
  switch (event.type) {
    case "plan_created":
      return put(view.plans, { plan: event.plan, callId: event.tool_call_id });
    case "plan_ready_for_review":
      return put(view.plans, { plan: event.plan, callId: null });
    case "plan_review": {
      const { verdict, notes } = event;
      return changed(view, event.plan_id, (plan) => ({
        ...plan,
        status: verdict === "rejected" ? "rejected" : plan.status,
        review: { verdict, notes },
      }));
    }
    case "executor_start":
      return changed(view, event.plan_id, (plan) => ({ ...plan, status: "executing" }));
    case "step_complete":
      return changed(view, event.plan_id, (plan) => withStep(plan, event.index, { status: event.status }));
    case "executor_complete":
      return changed(view, event.plan_id, (plan) => ({ ...plan, status: event.status, steps: plan.steps.map(skipped) }));
    case "swarmPlanReady":
      return [...view.plans, swarmPlan(view, event.steps)];
    case "swarmStepCompleted":
      // Its plan is the turn's only one, and has no name in these events.
      return view.plans.map((entry) => ({ ...entry, plan: withStep(entry.plan, event.stepIndex, { status: event.status }) }));
    case "tool_call_update":
      return event.status === "end" && [MAKES_PLANS, ACTS_ON_PLANS].includes(event.name)
        ? told(view, event.tool_call_id, event.result ?? "")
        : view.plans;
    case "done":
      return view.plans.map((entry) =>
        entry.plan.status === "executing" ? { ...entry, plan: { ...entry.plan, status: "stopped" } } : entry,
      );
    default:
      return view.plans;
  }
}

function put(plans: PlanEntry[], { plan, callId }: PlanEntry): PlanEntry[] {
  const at = plans.findIndex((entry) => entry.plan.id === plan.id);
  const known = plans[at];
  return known ? plans.with(at, { plan, callId: callId ?? known.callId }) : [...plans, { plan, callId }];
}

/** A plan of this turn, or the one that an earlier turn left to the user's word and this one now acts on. */
function changed(view: TurnView, id: string, change: (plan: Plan) => Plan): PlanEntry[] {
  const { plans, draft } = view;
  const plan = plans.find((entry) => entry.plan.id === id)?.plan ?? (draft?.id === id ? draft : null);
  return plan ? put(plans, { plan: change(plan), callId: null }) : plans;
}

function withStep(plan: Plan, index: number, change: Partial<PlanStep>): Plan {
  return { ...plan, steps: plan.steps.map((step, at) => (at === index ? { ...step, ...change } : step)) };
}

function skipped(step: PlanStep): PlanStep {
  return step.status === "pending" ? { ...step, status: "skipped" } : step;
}

/** A swarm says the titles of its steps, and nothing else; what it does in them are calls like those of any plan. */
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

/** What a call came to says what became of its plan: that one is dropped is told by nothing else, nor the name of a swarm's. */
function told(view: TurnView, callId: string, result: string): PlanEntry[] {
  let words: Partial<Told> | null;
  try {
    words = JSON.parse(result) as Partial<Told> | null;
  } catch {
    return view.plans;
  }
  const { plan_id: id, status, reasoning } = words ?? {};
  if (!id || !status) return view.plans;
  const plans = view.plans.map((entry) =>
    entry.callId === callId && entry.plan.id === NAMELESS ? { ...entry, plan: { ...entry.plan, id, reasoning: reasoning ?? "" } } : entry,
  );
  return changed({ ...view, plans }, id, (plan) => ({ ...plan, status }));
}

const NONE: ReadonlyMap<string, Plan> = new Map();

/**
 * The plans by the calls that show them: of those that name a plan the last one. A call that was stopped names
 * none, and is the last that makes any.
 */
export function planCalls(view: TurnView): ReadonlyMap<string, Plan> {
  if (view.plans.length === 0) return NONE;
  const making = callsIn(view).filter(({ name }) => name === MAKES_PLANS || name === ACTS_ON_PLANS);
  const named = making.map((call) => ({ id: call.id, name: call.name, planId: planIdIn(call) }));
  const shown = view.plans.map(({ plan, callId }) => {
    const call =
      named.findLast(({ id, planId }) => planId === plan.id || id === callId) ??
      named.findLast(({ name, planId }) => planId === null && name === MAKES_PLANS);
    return [call?.id ?? "", plan] as const;
  });
  return new Map(shown);
}

/** In the arguments or in the result, which may be previews and then end anywhere. */
function planIdIn({ args, result }: ToolEntry): string | null {
  const words = typeof args === "string" ? args : JSON.stringify(args);
  const found = /"plan_id":\s*"([^"\\]+)"/;
  return found.exec(words)?.[1] ?? found.exec(result ?? "")?.[1] ?? null;
}

/** What was said and tried on the way to a plan, beside its steps. */
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

/** A plan's steps with what became of each. `inside`: what lies in the call that shows the plan. */
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
  // Quotation marks within the title are escaped: this is the member, not words.
  const found = /","index":(\d+)/.exec(args);
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

/** The plan that runs now, with its steps. */
export function runningPlan(view: TurnView): { plan: Plan; items: ChecklistItem[] } | null {
  const plan = view.plans.findLast((entry) => entry.plan.status === "executing")?.plan;
  if (!plan) return null;
  const call = [...planCalls(view)].find(([, shown]) => shown === plan)?.[0];
  return { plan, items: checklistOf(plan, view.entries.filter(({ parentId }) => parentId === call)) };
}

/** The plan that waits for the user's word, and the turn that left it: the newest one that nothing has happened to since. */
export function waitingPlan(turns: readonly { turnId: string; answer: TurnView | null }[]): { plan: Plan; turnId: string } | null {
  let waiting: { plan: Plan; turnId: string } | null = null;
  for (const { turnId, answer } of turns) {
    for (const { plan } of answer?.plans ?? []) {
      if (plan.status === "pending_review") waiting = { plan, turnId };
      else if (plan.id === waiting?.plan.id) waiting = null;
    }
  }
  return waiting;
}

export const VERDICTS: Record<PlanReview["verdict"], string> = {
  approved: "The reviewer approved it.",
  needs_changes: "The reviewer wants changes.",
  rejected: "The reviewer refused it.",
};
