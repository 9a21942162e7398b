// Words for a running turn's status and for the end of a turn.

import { features } from "../feature";
import type { CostSummary, ModelCost } from "../wire";
import { callsIn, type TurnView } from "./view";

export interface Status {
  key: "idle" | "offline" | "thinking" | "tool" | "plan" | "waiting" | "reconnecting" | "stopping";
  label: string;
  /** One or two sentences: the status, and the reader's next step. */
  words?: string;
}

export type Connection = "open" | "reconnecting";

export const IDLE: Status = { key: "idle", label: "Idle" };

export const OFFLINE: Status = {
  key: "offline",
  label: "Offline",
  words: "This browser has no network. The page keeps your text: send it when the network is back.",
};

const EXECUTING_TOOL = "executing_tool:";

export function statusOf(view: TurnView, connection: Connection, stopping: boolean): Status {
  if (view.finishReason !== null) return IDLE;
  if (connection === "reconnecting") {
    return {
      key: "reconnecting",
      label: "Reconnecting…",
      words: "The connection was lost. The turn goes on in the service. The page shows it again when the connection is back.",
    };
  }
  if (stopping) return { key: "stopping", label: "Stopping…" };
  const details = view.agent?.details ?? "";
  if (details === "queued") {
    return {
      key: "waiting",
      label: "Queued",
      words: "Your answer is stored. The turn goes on when one of your other turns ends.",
    };
  }
  if (details.startsWith(EXECUTING_TOOL)) {
    const tool = details.slice(EXECUTING_TOOL.length);
    const open = callsIn(view).filter((call) => call.status === "running").length;
    const words = open === 0 ? undefined : `${open} ${open === 1 ? "call is" : "calls are"} running.`;
    const label = toolLabel(tool);
    return { key: "tool", label, ...(words ? { words } : {}) };
  }
  switch (view.agent?.state) {
    case "executing_plan":
      return planStatus(view) ?? { key: "plan", label: "Executing plan", words: "A plan is carried out, step by step." };
    case "waiting_on_user":
      return {
        key: "waiting",
        label: "Waiting on you",
        words: "The turn waits for your answer. The wait costs no time of its limit.",
      };
    default:
      return { key: "thinking", label: "Thinking", words: "The model is writing its next reply." };
  }
}

/** Tools whose calls contain other calls. */
const TOOL_LABELS: Record<string, string> = { run_subtask: "Working on subtasks", route_request: "Choosing the way" };

function toolLabel(tool: string): string {
  const labels = features().map(({ toolLabels }) => toolLabels?.[tool]);
  return TOOL_LABELS[tool] ?? labels.find((label) => label !== undefined) ?? `Running ${tool}`;
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

const BUDGETS: Record<string, string> = {
  subtasks: "subtasks",
  llm_calls: "model calls",
  tool_calls: "tool calls",
  wall_clock: "running time",
  tokens: "tokens",
  bytes: "bytes of tool results",
};

/** Why a turn ended without a finished answer, and the reader's next step; null when the answer is finished. */
export function noticeOf(view: TurnView): Notice | null {
  const { finishReason, failure, budget } = view;
  // A turn whose failure is known ends at once: the notice need not wait.
  if (finishReason === null && failure === null) return null;
  if (finishReason === "stop" && failure === null) return null;
  const code = failure?.code ?? finishReason ?? "error";
  const retryable = failure?.retryable ?? finishReason === "interrupted";
  const text = failure?.message ?? "";
  if (finishReason === "cancelled" || code === "cancelled") {
    return {
      code,
      tone: "quiet",
      title: "Stopped.",
      text: "The work done until then is kept.",
      retryable,
    };
  }
  if (code === "superseded") {
    return { code, tone: "quiet", title: "Replaced by a newer message.", text: "", retryable };
  }
  if (finishReason === "budget" || code === "budget_exceeded") {
    return { code, tone: "warning", title: budgetTitle(view), text: text || NARROWER, retryable };
  }
  if (finishReason === "length") {
    return {
      code,
      tone: "warning",
      title: "The answer was cut off at the model's length limit.",
      text: text || "Ask it to go on from there.",
      retryable,
    };
  }
  if (finishReason === "content_filter") {
    return {
      code,
      tone: "warning",
      title: "The model's provider withheld the rest of this answer.",
      text: text || "Put the question another way.",
      retryable,
    };
  }
  if (finishReason === "interrupted" || code === "interrupted") {
    return {
      code,
      tone: "warning",
      title: "This turn was interrupted.",
      text: text || "The work done until then is kept. Ask again to go on.",
      retryable,
    };
  }
  return {
    code,
    tone: "error",
    title: "This turn failed.",
    text: text || (budget ? NARROWER : "Ask again; if it keeps failing, the service's operator should look at its logs."),
    retryable,
  };
}

const NARROWER = "Ask for less at once, or go on from here in a new message.";

function budgetTitle({ budget }: TurnView): string {
  if (!budget) return "This turn used up its budget.";
  if (budget.reason === "cost") return `This turn reached its limit of ${money(budget.limit / 1e6)}.`;
  const limit =
    budget.reason === "wall_clock" ? durationText(budget.limit) : budget.limit.toLocaleString("en");
  return `This turn reached its limit of ${limit} ${BUDGETS[budget.reason] ?? budget.reason}.`;
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
  const parts = [count(share.llm_calls, "model call")];
  if (tokens > 0) {
    const part = turnTokens ? `, ${Math.round((100 * tokens) / turnTokens)}% of the turn’s` : "";
    parts.push(`${count(tokens, "token")}${part}`);
  }
  if (share.cost_usd) parts.push(money(share.cost_usd));
  return parts.join(" · ");
}

/** The parts of the footer line: calls, tokens, and money where the price is known. */
export function costParts(cost: CostSummary): string[] {
  const parts = [count(cost.llm_calls, "model call")];
  if (cost.tool_calls > 0) parts.push(count(cost.tool_calls, "tool call"));
  if (cost.subtasks > 0) parts.push(count(cost.subtasks, "subtask"));
  const tokens = cost.input_tokens + cost.output_tokens;
  if (tokens > 0) parts.push(count(tokens, "token"));
  // Null is an unknown price, and the demo model costs nothing: neither gets a figure.
  if (cost.cost_usd) parts.push(money(cost.cost_usd));
  return parts;
}

function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

export function money(usd: number): string {
  if (usd > 0 && usd < 0.0001) return "< $0.0001";
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}
