// The built-in hooks, as docs/hooks.md has them, and the form of a hook.

import type { Hook, HookPoint, HookReach, NewHook } from "../../../wire.generated";

interface Rule {
  /** The moments at which it may be asked; the first without a choice. */
  points: readonly HookPoint[];
  options: Readonly<Record<string, "count" | "text">>;
}

export const POINTS: readonly HookPoint[] = ["action", "input", "result", "answer"];
export const REACHES: readonly HookReach[] = ["all", "main"];

export const RULES: Readonly<Record<string, Rule>> = {
  planning_mode: { points: ["action"], options: { until: "text" } },
  loop_guard: { points: ["action"], options: { times: "count" } },
  spawn_limit: { points: ["action"], options: { most: "count" } },
  discuss_limit: { points: ["action"], options: { most: "count" } },
  single_minded: { points: ["action"], options: { most: "count" } },
  todo_reminder: { points: ["result"], options: { every: "count" } },
  garbage_collector: { points: ["result"], options: { after: "count" } },
  file_changed: { points: ["result"], options: { under: "text" } },
  steelman: { points: ["action", "input", "result", "answer"], options: { about: "text" } },
};

/** A hook on the input or on the answer watches no calls. */
export function watchesCalls(on: HookPoint): boolean {
  return on === "action" || on === "result";
}

/** A hook whose instructions a model judges by has this in place of the name of a rule. */
export const BY_MODEL = "";
const BY_INSTRUCTIONS: Rule = { points: POINTS, options: {} };

export function ruleOf(rule: string): Rule {
  return RULES[rule] ?? BY_INSTRUCTIONS;
}

/** What a person has entered. Lists are separated by commas or spaces. */
export interface Draft {
  name: string;
  rule: string;
  on: HookPoint;
  match: string;
  options: Readonly<Record<string, string>>;
  instructions: string;
  reads: string;
  of: HookReach;
}

export const NEW: Draft = { name: "", rule: BY_MODEL, on: "action", match: "", options: {}, instructions: "", reads: "", of: "all" };

/** The form of a hook that is in force. */
export function draftOf({ name, on, match = [], builtin, options = {}, instructions, reads = [], of }: Hook): Draft {
  return {
    name,
    rule: builtin ?? BY_MODEL,
    on,
    match: match.join(", "),
    options: Object.fromEntries(Object.entries(options).map(([option, value]) => [option, String(value)])),
    instructions: instructions ?? "",
    reads: reads.join(", "),
    of,
  };
}

/** Another rule has other options, watches other calls, and may not know the moment. */
export function withRule(draft: Draft, rule: string): Draft {
  const { points } = ruleOf(rule);
  return { ...draft, rule, options: {}, match: "", on: points.includes(draft.on) ? draft.on : (points[0] ?? draft.on) };
}

/** The body of the request. An empty control is an absent member; the service refuses what it cannot read. */
export function bodyOf({ rule, on, match, options, instructions, reads, of }: Draft): NewHook {
  const kinds = ruleOf(rule).options;
  const chosen = Object.entries(options).filter(([option, value]) => option in kinds && value.trim() !== "");
  const calls = watchesCalls(on) ? listOf(match) : [];
  const keys = listOf(reads);
  const watched: NewHook = { on, of, ...(calls.length > 0 && { match: calls }) };
  if (rule === BY_MODEL) return { ...watched, instructions, ...(keys.length > 0 && { reads: keys }) };
  const values = chosen.map(([option, value]) => [option, kinds[option] === "count" ? countOf(value) : value]);
  return { ...watched, builtin: rule, ...(values.length > 0 && { options: Object.fromEntries(values) }) };
}

function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

/** A number, or the text that is none: the service says so. */
function countOf(text: string): number | string {
  return /^\s*\d+\s*$/.test(text) ? Number(text) : text;
}
