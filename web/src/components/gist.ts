// A call's arguments: named values of an object, or else plain text. Stored arguments may end in the middle. Where that is
// in a value of the object, as it mostly is, the others are there, and the beginning of this one.

import { turnWords } from "../turn/en";
import type { ToolEntry } from "../turn/view";
import { isDenied, isSubtask } from "../turn/view";

type Args = ToolEntry["args"];

export function argFields(args: Args): [string, string][] | null {
  const object = typeof args === "string" ? parsed(args) : args;
  if (object === null) return null;
  // By name, as events have them: a stored preview has them as the model wrote them.
  const fields = Object.entries(object).sort(([one], [other]) => (one < other ? -1 : 1));
  return fields.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value, null, 2)]);
}

function parsed(text: string): Record<string, unknown> | null {
  return read(text) ?? (text.endsWith("…") ? read(`${text.replace(/\\(u\w{0,3})?…$/, "…")}"}`) : null);
}

function read(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** The names of the most telling arguments. */
const TELLING: ReadonlySet<string> = new Set(["path", "key", "query", "url", "name"]);

/** The arguments in a few words, for a folded card. */
export function argsGist(call: ToolEntry): string {
  if (isSubtask(call)) return "";
  const fields = argFields(call.args) ?? [];
  const [, telling = ""] = fields.find(([name]) => TELLING.has(name)) ?? fields[0] ?? [];
  return telling.replace(/\s+/g, " ").slice(0, 120);
}

/** The result in a few words, for a folded card. */
export function resultGist(call: ToolEntry): string {
  if (isSubtask(call) || call.status === "running") return "";
  if (isDenied(call)) return turnWords.card.status.denied;
  return (call.result ?? "").trim().replace(/\s+/g, " ").slice(0, 120);
}
