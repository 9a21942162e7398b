// The words for what a turn is doing and for how it ended.

import type { CostSummary, ModelCost } from "../wire";
import { ended, MAKES_PLANS, runningPlan } from "./plan";
import { callsIn, type TurnView } from "./view";

export interface Status {
  key: "idle" | "offline" | "thinking" | "tool" | "plan" | "waiting" | "reconnecting" | "stopping";
  label: string;
  /** The same in a sentence or two, with what one may do. */
  words?: string;
}

export type Connection = "open" | "reconnecting";

export const IDLE: Status = { key: "idle", label: "Idle" };

export const OFFLINE: Status = {
  key: "offline",
  label: "Offline",
  words: "This browser has no network. What you write is kept, and can be sent when it is back.",
};

export const DRAFT_WAITS: Status = {
  key: "waiting",
  label: "Waiting on you",
  words: "A plan waits for your word: say in a message whether to run, change or drop it.",
};

const EXECUTING_TOOL = "executing_tool:";

export function statusOf(view: TurnView, connection: Connection, stopping: boolean): Status {
  if (view.finishReason !== null) return IDLE;
  if (connection === "reconnecting") {
    return {
      key: "reconnecting",
      label: "Reconnecting…",
      words: "The line was cut. The turn goes on in the service, and is shown from there as soon as the line is back.",
    };
  }
  if (stopping) return { key: "stopping", label: "Stopping…" };
  const details = view.agent?.details ?? "";
  if (details === "queued") {
    return {
      key: "waiting",
      label: "Queued",
      words: "Your answer is stored. The turn goes on when one of your other turns has ended.",
    };
  }
  if (details.startsWith(EXECUTING_TOOL)) {
    const tool = details.slice(EXECUTING_TOOL.length);
    const open = callsIn(view).filter((call) => call.status === "running").length;
    const words = open === 0 ? undefined : `${open} ${open === 1 ? "call is" : "calls are"} running.`;
    const label = TOOL_LABELS[tool] ?? `Running ${tool}`;
    return { key: "tool", label, ...(words ? { words } : {}) };
  }
  switch (view.agent?.state) {
    case "executing_plan":
      return planStatus(view);
    case "waiting_on_user":
      return {
        key: "waiting",
        label: "Waiting on you",
        words: "Nothing runs, and no time is counted, until you have answered.",
      };
    default:
      return { key: "thinking", label: "Thinking", words: "The model is writing its next reply." };
  }
}

/** Calls that contain others. */
const TOOL_LABELS: Record<string, string> = { run_subtask: "Working on subtasks", [MAKES_PLANS]: "Making a plan", route_request: "Choosing the way" };

function planStatus(view: TurnView): Status {
  const items = runningPlan(view)?.items ?? [];
  const active = items.filter(({ state }) => state === "active");
  const [first] = active;
  const at = first && ` · ${active.length === 1 ? "step" : "steps"} ${active.map(({ number }) => number).join(", ")} of ${items.length}`;
  const now = active.map(({ number, step }) => `${number}. ${step.title}`).join("; ");
  const done = items.length === 0 ? "" : ` ${items.filter(ended).length} of ${items.length} steps are done.`;
  return {
    key: "plan",
    label: `Executing plan${at ?? ""}`,
    words: `A plan is carried out, step by step.${done}${first ? ` Now: ${now}.` : ""}`,
  };
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

/** Why a turn did not end as a finished answer, and what one may do about it; null when it did. */
export function noticeOf(view: TurnView): Notice | null {
  const { finishReason, failure, budget } = view;
  // Not yet ended, but the reason is known already: say it, the end follows at once.
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
      text: "What was done until then is kept.",
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
      text: text || "What was done until then is kept. Ask again to go on.",
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

/** What counts while one looks: whole seconds, that do not jump about. */
export function secondsText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Made when it is first needed: that takes longer than everything else that the first screen waits for. */
let compactFormat: Intl.NumberFormat | null = null;

/** 1,234 → 1.2K */
export function compact(n: number): string {
  compactFormat ??= new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  return compactFormat.format(n);
}

/** A subtask's part in what its turn used. */
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
  // Null is unknown, and nothing is what the demo model costs: neither is worth a figure.
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
