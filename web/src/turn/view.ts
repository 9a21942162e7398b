// One turn, as the page knows it. Live events (reduce.ts) and a stored message (stored.ts) lead to the same shape. So one
// renderer draws both, and a reload shows the same answer.
//
// `entries` is a flat list in order of appearance. `parentId` alone tells the nesting; outline.ts derives it for drawing.

import type { Turns } from "../feature";
import type { CostSummary, Decision, FinishReason, Form, HookDecision, HookPoint, LeftUndone, ModelCost, Source, TurnLimits, Usage } from "../wire";
import { knownAtBeginning, type Known } from "./features";

interface Entry {
  /** Unique within the turn. */
  id: string;
  /** The `tool_call_id` of the enclosing subtask; null at the root. */
  parentId: string | null;
  depth: number;
}

export interface TextEntry extends Entry {
  /** `summary`: the summary of earlier messages that left the model's view; without text, they were left out. */
  kind: "text" | "reasoning" | "summary";
  /** A reset drops all parts of one model call. Null in a stored turn. */
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
  /** Live: the arguments. Stored: their text, which may end in the middle. */
  args: Record<string, unknown> | string | null;
  result: string | null;
  /** The service has kept only the beginning of the result. */
  isCut: boolean;
  /** The turn's running time when the call started. Null in trees of an earlier version. */
  startedMs: number | null;
  durationMs: number | null;
  /** The tokens and costs of all model calls below a subtask that has ended. */
  usage: ModelCost | null;
  /** The documents that the result comes from, once the call has ended. */
  sources: readonly string[];
  /** The decision on a call that needed a person's permission, once the call has ended. */
  decision: Decision | null;
  /** A hook stands among the calls: its name is the entry's, its words are the result. */
  hook?: HookVerdict;
}

export interface HookVerdict {
  /** The moment at which it is asked. */
  point: HookPoint;
  /** Null while it is asked, and where the end of the turn cut it off. */
  decision: HookDecision | null;
  /** It gave no verdict. */
  failed: boolean;
}

/** One call of a model. Null stands for what is not known, or not yet. */
export interface ModelCall {
  id: string;
  /** The `tool_call_id` of the call whose level asks the model; null at the root. */
  parentId: string | null;
  model: string;
  /** The turn's running time when the call started. */
  startedMs: number;
  /** Milliseconds from the start. */
  firstByteMs: number | null;
  durationMs: number | null;
  usage: Usage | null;
  costUsd: number | null;
  /** Null while the call runs. */
  finishReason: string | null;
}

export type TurnEntry = TextEntry | ToolEntry;

/** The most characters of a result in its card. The service keeps no more of it (`DETAIL_CHARS` in `durable/wire`). */
export const DETAIL_CHARS = 4000;

/** The first characters of a text. A cut text ends with an ellipsis, which counts. */
export function beginning(text: string, chars: number): string {
  const all = text.length > chars ? [...text] : [];
  return all.length > chars ? `${all.slice(0, chars - 1).join("")}…` : text;
}

export interface AgentState {
  state: "thinking" | "executing_plan" | "waiting_on_user";
  details: string | null;
}

/** How many calls the turn has begun, for comparison with its limits. */
export interface Begun {
  llm_calls: number;
  tool_calls: number;
  subtasks: number;
}

export interface BudgetStop {
  reason: string;
  limit: number;
  observed: number;
  /** The work that the limit left undone. */
  left: readonly LeftUndone[];
}

export interface TurnFailure {
  code: string;
  message: string;
  retryable: boolean;
}

/** A call that a person must allow before it runs. */
export interface Approval {
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** The permission class of the tool, such as `network`. */
  permissionClass: string;
  /** The call changes nothing. */
  readOnly: boolean;
  /** The reader's own app carries the call out. */
  byClient: boolean;
  /** The input that a running call needs; null where the call waits to be allowed. */
  form: Form | null;
  /** The end of the time to decide (milliseconds since 1970). */
  expiresAt: number;
  /** The person's decision, made here or elsewhere; null while the call waits. */
  decision: Decision | null;
}

/** A limit of the turn that a person may raise. */
export interface LimitRequest {
  id: string;
  reason: string;
  limit: number;
  /** The limit after one grant. */
  raisedTo: number;
  /** How often the budget can be granted, this time included. */
  grantsLeft: number;
  /** The use of the turn when it asked. */
  usage: CostSummary;
  /** The end of the time to decide (milliseconds since 1970). */
  expiresAt: number;
  /** The person's decision, made here or elsewhere; null while the turn waits. */
  decision: Decision | null;
}

export interface TurnView {
  turnId: string;
  /** The id of the stored question; null until the service has told it. */
  questionId: string | null;
  /** The id of the stored answer; null until the service has told it. */
  answerId: string | null;
  /** The number of the latest event applied. Events up to it that come again are repetitions. */
  lastSeq: number;
  entries: TurnEntry[];
  /** In any order: those of a stored turn stand in that of their ends. */
  modelCalls: ModelCall[];
  /** The approvals that the turn has asked for; empty after its end. */
  approvals: Approval[];
  /** The limits at which the turn has asked for more; empty after its end. */
  limitRequests: LimitRequest[];
  features: Known;
  agent: AgentState | null;
  limits: TurnLimits | null;
  begun: Begun;
  budget: BudgetStop | null;
  failure: TurnFailure | null;
  cost: CostSummary | null;
  /** Null while the turn runs. */
  finishReason: FinishReason | null;
}

/** The note that earlier messages left the model's view: one with a summary, and one without, at most. */
export function summaryEntry(text: string | null): TextEntry {
  const id = text === null ? "left-out" : "summary";
  return { kind: "summary", id, parentId: null, depth: 0, modelCallId: null, content: text ?? "", done: true };
}

/** A turn that begins after these. */
export function newTurn(turnId: string, before: Turns = []): TurnView {
  return {
    turnId,
    questionId: null,
    answerId: null,
    lastSeq: 0,
    entries: [],
    modelCalls: [],
    approvals: [],
    limitRequests: [],
    features: knownAtBeginning(before),
    agent: null,
    limits: null,
    begun: { llm_calls: 0, tool_calls: 0, subtasks: 0 },
    budget: null,
    failure: null,
    cost: null,
    finishReason: null,
  };
}

/** The tool whose calls contain other calls. The wire nests by it, so the page knows its name. */
export const SUBTASK_TOOL = "run_subtask";

export function isSubtask(entry: ToolEntry): boolean {
  return entry.name === SUBTASK_TOOL;
}

/** How the service tells the model that a person denied its call. Turns of earlier versions have no other mark for it. */
const DENIAL = "The user did not allow this call";

/** A person denied it. */
export function isDenied({ status, result, decision }: ToolEntry): boolean {
  return decision === "deny" || (status === "error" && (result?.startsWith(DENIAL) ?? false));
}

/** The words with which a person denied a call, as the service tells them to the model (`durable/engine/src/turn/results.rs`). */
export function reasonOf({ result }: Pick<ToolEntry, "result">): string | null {
  const said = /<reason_of_the_user>\n([^]*)\n<\/reason_of_the_user>$/.exec(result ?? "")?.[1];
  return said?.replaceAll("\\u003c", "<") ?? null;
}

/** The stops after which a turn can be continued. */
const LIMITS: ReadonlySet<string> = new Set(["budget_exceeded", "iteration_limit"]);

/** Whether a limit ended the turn, so that another one can continue it. */
export function canContinue({ failure, finishReason }: TurnView): boolean {
  return finishReason !== null && failure !== null && isLimit(failure.code);
}

export function isLimit(code: string): boolean {
  return LIMITS.has(code);
}

/** The calls that wait for a person's decision. */
export function openApprovals({ approvals }: TurnView): Approval[] {
  return approvals.filter(({ decision }) => decision === null);
}

/** The limit at which the turn waits for a person's decision. */
export function openLimit({ limitRequests }: TurnView): LimitRequest | undefined {
  return limitRequests.find(({ decision }) => decision === null);
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

export function titlesOf(sources: readonly Source[] | undefined): string[] {
  return (sources ?? []).map(({ title }) => title);
}
