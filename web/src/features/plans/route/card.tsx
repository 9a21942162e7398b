// The card of the router: one line says all that its decision has. The call within it hands the decision in, and has the same
// as JSON.

import type { Card } from "../../../feature";
import type { ToolEntry } from "../../../turn/view";
import { words } from "./en";

export function routeCard({ result, status }: Pick<ToolEntry, "result" | "status">): Card {
  const { complexity, reason } = decisionIn(result);
  return {
    title: words.complexities[complexity] ?? (status === "running" ? words.running : words.unknown),
    gist: (open) => (open ? "" : reason),
    meta: null,
    folded: true,
    body: <p className="tool-none" dir="auto">{reason || words.noReason}</p>,
  };
}

/** A result that was cut, or is of another form, tells nothing. */
function decisionIn(result: string | null): { complexity: string; reason: string } {
  const decision = parsed(result ?? "");
  const text = (value: unknown) => (typeof value === "string" ? value.trim() : "");
  return { complexity: text(decision?.complexity), reason: text(decision?.reason) };
}

function parsed(text: string): { complexity?: unknown; reason?: unknown } | null {
  try {
    return JSON.parse(text) as { complexity?: unknown; reason?: unknown } | null;
  } catch {
    return null;
  }
}
