// Words for a running turn's status and for the end of a turn.

import { en } from "../en";
import { features } from "../feature";
import type { CostSummary, ModelCost } from "../wire";
import { callsIn, openApprovals, openLimit, type ToolEntry, type TurnView } from "./view";

export interface Status {
  key: "idle" | "offline" | "thinking" | "tool" | "plan" | "waiting" | "reconnecting" | "stopping";
  label: string;
  /** One or two sentences: the status, and the reader's next step. */
  words?: string;
}

export type Connection = "open" | "reconnecting";

export const IDLE: Status = { key: "idle", label: en.status.idle };

export const OFFLINE: Status = {
  key: "offline",
  label: en.status.offline,
  words: en.status.offlineWords,
};

const EXECUTING_TOOL = "executing_tool:";

export function statusOf(view: TurnView, connection: Connection, stopping: boolean): Status {
  if (view.finishReason !== null) return IDLE;
  if (connection === "reconnecting") {
    return {
      key: "reconnecting",
      label: en.status.reconnecting,
      words: en.status.reconnectingWords,
    };
  }
  if (stopping) return { key: "stopping", label: en.status.stopping };
  const details = view.agent?.details ?? "";
  if (details === "queued") {
    return {
      key: "waiting",
      label: en.status.queued,
      words: en.status.queuedWords,
    };
  }
  if (details === "summarising_history") {
    return { key: "thinking", label: en.status.summarising, words: en.status.summarisingWords };
  }
  if (isJudged(view)) return { key: "thinking", label: en.status.checking };
  if (details.startsWith(EXECUTING_TOOL)) {
    const tool = details.slice(EXECUTING_TOOL.length);
    const open = callsIn(view).filter((call) => call.status === "running").length;
    const words = open === 0 ? undefined : en.status.callsRunning(open);
    const label = toolLabel(tool);
    return { key: "tool", label, ...(words ? { words } : {}) };
  }
  switch (view.agent?.state) {
    case "executing_plan":
      return planStatus(view) ?? { key: "plan", label: en.status.plan, words: en.status.planWords };
    case "waiting_on_user": {
      const call = callOfClient(view);
      if (call) return { key: "waiting", label: en.status.waitingForApp, words: en.status.waitingForAppWords(call.name) };
      return { key: "waiting", label: en.status.waiting, words: en.status.waitingWords };
    }
    default:
      return { key: "thinking", label: en.status.thinking, words: en.status.thinkingWords };
  }
}

/** The call that the turn waits for where nobody is asked: an app carries it out. */
function callOfClient(view: TurnView): ToolEntry | undefined {
  if (openApprovals(view).length > 0 || openLimit(view)) return undefined;
  return callsIn(view).findLast(({ status, id }) => status === "running" && !callsIn(view).some(({ parentId }) => parentId === id));
}

/** A hook judges the answer before the reader gets it. */
function isJudged(view: TurnView): boolean {
  return callsIn(view).some(({ status, parentId, hook }) => status === "running" && parentId === null && hook?.point === "answer");
}

/** Tools whose calls contain other calls. */
const TOOL_LABELS: Record<string, string> = { run_subtask: en.status.subtasks, route_request: en.status.routing };

function toolLabel(tool: string): string {
  const labels = features().map(({ toolLabels }) => toolLabels?.[tool]);
  return TOOL_LABELS[tool] ?? labels.find((label) => label !== undefined) ?? en.status.running(tool);
}

function planStatus(view: TurnView): Status | null {
  return features().map((feature) => feature.planStatus?.(view)).find(Boolean) ?? null;
}

export interface Notice {
  code: string;
  tone: "quiet" | "warning" | "error";
  title: string;
  text: string;
  retryable: boolean;
}

/** Why a turn ended without a finished answer, and the reader's next step; null when the answer is finished. */
export function noticeOf(view: TurnView): Notice | null {
  const { finishReason, failure, budget } = view;
  // A turn whose failure is known ends at once: the notice need not wait.
  if (finishReason === null && failure === null) return null;
  if (finishReason === "stop" && failure === null) return null;
  const code = failure?.code ?? finishReason ?? "error";
  const retryable = failure?.retryable ?? finishReason === "interrupted";
  const text = failure?.message ?? "";
  const warning = (title: string, words: string): Notice => ({ code, tone: "warning", title, text: words, retryable });
  // It ends as cancelled too.
  if (code === "superseded") return { code, tone: "quiet", title: en.notice.superseded, text: "", retryable };
  if (finishReason === "cancelled" || code === "cancelled") {
    return { code, tone: "quiet", title: en.notice.stopped, text: en.notice.stoppedText, retryable };
  }
  if (code === "iteration_limit") return warning(en.notice.rounds(rootCalls(view)), en.notice.stoppedText);
  if (finishReason === "budget" || code === "budget_exceeded") return warning(budgetTitle(view), leftText(view));
  if (finishReason === "length") return warning(en.notice.length, text || en.notice.lengthText);
  if (finishReason === "content_filter") return warning(en.notice.filter, text || en.notice.filterText);
  if (code === "blocked") return warning(en.notice.blocked, text);
  if (finishReason === "interrupted" || code === "interrupted") {
    return warning(en.notice.interrupted, text || en.notice.interruptedText);
  }
  return {
    code,
    tone: "error",
    title: en.notice.failed,
    text: text || (budget ? en.notice.narrower : en.notice.failedText),
    retryable,
  };
}

/** The model calls of the answer itself, without those of its subtasks. A stored turn of an earlier version has none. */
function rootCalls({ modelCalls }: TurnView): number {
  return modelCalls.filter(({ parentId }) => parentId === null).length;
}

function budgetTitle({ budget }: TurnView): string {
  return budget ? en.notice.budget(limitText(budget.reason, budget.limit)) : en.notice.budgetUsed;
}

/** A limit with its unit: 60 model calls. */
export function limitText(reason: string, limit: number): string {
  if (reason === "cost") return money(limit / 1e6);
  const amount = reason === "wall_clock" ? durationText(limit) : limit.toLocaleString("en");
  return `${amount} ${en.notice.budgets[reason] ?? reason}`;
}

/** The most pieces of work that a notice names. */
const NAMED = 5;

/** What a limit left undone. */
function leftText({ budget }: TurnView): string {
  if (!budget || budget.left.length === 0) return en.notice.leftAnswer;
  const names = budget.left.map(({ name, title }) => title ?? name ?? "");
  return en.notice.left(names.slice(0, NAMED), names.length - NAMED);
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const rest = seconds % 60 === 0 ? "" : ` ${seconds % 60} s`;
  return `${Math.floor(seconds / 60)} min${rest}`;
}

/** A running time: whole seconds, so that the digits keep their places. */
export function secondsText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Made on first use: making it takes longer than all the other work of the first screen. */
let compactFormat: Intl.NumberFormat | null = null;

/** 1,234 → 1.2K */
export function compact(n: number): string {
  compactFormat ??= new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  return compactFormat.format(n);
}

/** A subtask's share of its turn's usage. */
export function shareText(share: ModelCost, turnTokens: number | null): string {
  const tokens = share.input_tokens + share.output_tokens;
  const parts = [en.figures.modelCalls(share.llm_calls)];
  if (tokens > 0) {
    const part = turnTokens ? en.figures.ofTurn(Math.round((100 * tokens) / turnTokens)) : "";
    parts.push(`${en.figures.tokens(tokens)}${part}`);
  }
  if (share.cost_usd) parts.push(money(share.cost_usd));
  return parts.join(" · ");
}

/** The parts of the footer line: calls, tokens, and money where the price is known. */
export function costParts(cost: CostSummary): string[] {
  const parts = [en.figures.modelCalls(cost.llm_calls)];
  if (cost.tool_calls > 0) parts.push(en.figures.toolCalls(cost.tool_calls));
  if (cost.subtasks > 0) parts.push(en.figures.subtasks(cost.subtasks));
  const tokens = cost.input_tokens + cost.output_tokens;
  if (tokens > 0) parts.push(en.figures.tokens(tokens));
  // Null is an unknown price, and the demo model costs nothing: neither gets a figure.
  if (cost.cost_usd) parts.push(money(cost.cost_usd));
  if (cost.estimated) parts.push(en.figures.estimated);
  return parts;
}

export function money(usd: number): string {
  if (usd > 0 && usd < 0.0001) return "< $0.0001";
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}
