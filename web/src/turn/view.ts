// What the page knows about one turn. The same shape is made from live events (reduce.ts) and from
// a stored message (stored.ts), so there is one renderer and a reload shows what was there before.
//
// `entries` is flat and in order of appearance; who stands inside whom is said by `parentId` alone
// and worked out when it is drawn (outline.ts).

import type { CostSummary, Decision, FinishReason, ModelCost, Plan, TurnLimits } from "../wire";

interface Entry {
  /** Unique within the turn. */
  id: string;
  /** The `tool_call_id` of the subtask this belongs to; null at the root. */
  parentId: string | null;
  depth: number;
}

export interface TextEntry extends Entry {
  kind: "text" | "reasoning";
  /** A reset drops all the parts of one model call. Null in stored text. */
  modelCallId: string | null;
  content: string;
  done: boolean;
}

export type ToolStatus = "running" | "done" | "error";

export interface ToolEntry extends Entry {
  kind: "tool";
  name: string;
  title: string | null;
  status: ToolStatus;
  /** Live: the arguments. Stored: their preview, which may be cut off in the middle. */
  args: Record<string, unknown> | string | null;
  result: string | null;
  /** The turn's running time when the call started. Null in trees that an earlier version stored. */
  startedMs: number | null;
  durationMs: number | null;
  /** Of a subtask that has ended: what all model calls below it used. */
  usage: ModelCost | null;
}

export type TurnEntry = TextEntry | ToolEntry;

export interface AgentState {
  state: "thinking" | "executing_plan" | "waiting_on_user";
  details: string | null;
}

/** What the turn has begun so far, of what its limits count. */
export interface Begun {
  llm_calls: number;
  tool_calls: number;
  subtasks: number;
}

export interface BudgetStop {
  reason: string;
  limit: number;
  observed: number;
}

export interface TurnFailure {
  code: string;
  message: string;
  retryable: boolean;
}

/** A call that waits until a person allows it. */
export interface Approval {
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** What was said to it, here or elsewhere; null as long as nothing was. */
  decision: Decision | null;
}

/** A plan that the turn made or acted on. */
export interface PlanEntry {
  plan: Plan;
  /** The call that made it, where an event said so. */
  callId: string | null;
}

export interface TurnView {
  turnId: string;
  /** The stored message that asked; null as long as nobody has said its name. */
  questionId: string | null;
  /** The highest event applied; anything up to it that comes again is a repetition. */
  lastSeq: number;
  entries: TurnEntry[];
  /** What a person is asked, as long as the turn runs. */
  approvals: Approval[];
  plans: PlanEntry[];
  /** The plan of an earlier turn that waited for the user's word when this one began here. */
  draft: Plan | null;
  agent: AgentState | null;
  limits: TurnLimits | null;
  begun: Begun;
  budget: BudgetStop | null;
  failure: TurnFailure | null;
  cost: CostSummary | null;
  /** Null while the turn runs. */
  finishReason: FinishReason | null;
}

export function newTurn(turnId: string, draft: Plan | null = null): TurnView {
  return {
    turnId,
    questionId: null,
    lastSeq: 0,
    entries: [],
    approvals: [],
    plans: [],
    draft,
    agent: null,
    limits: null,
    begun: { llm_calls: 0, tool_calls: 0, subtasks: 0 },
    budget: null,
    failure: null,
    cost: null,
    finishReason: null,
  };
}

/** The tool whose calls contain others. The wire nests by it, so the page has to know it too. */
export const SUBTASK_TOOL = "run_subtask";

export function isSubtask(entry: ToolEntry): boolean {
  return entry.name === SUBTASK_TOOL;
}

/** What waits for a person's word. */
export function openApprovals({ approvals }: TurnView): Approval[] {
  return approvals.filter(({ decision }) => decision === null);
}

export function callsIn(view: TurnView): ToolEntry[] {
  return view.entries.filter((entry) => entry.kind === "tool");
}

/** The answer as plain text, for the clipboard. */
export function answerText(view: TurnView): string {
  return view.entries
    .filter((entry) => entry.kind === "text" && entry.parentId === null)
    .map((entry) => (entry as TextEntry).content.trim())
    .filter(Boolean)
    .join("\n\n");
}
