// A turn's knowledge of the session on which it works: the last news of it. The session itself outlives turns, so the page
// reads it with the chat (session/sessions.ts). A stored turn has no news.

import type { TurnView } from "../../turn/view";
import type { TurnEvent } from "../../wire";

export type News = Extract<TurnEvent, { type: "workflow_update" }>;

export function newsOf({ features }: TurnView): News | null {
  return (features["workflows"] as News | null | undefined) ?? null;
}

export function newsAfter(view: TurnView, event: TurnEvent): News | null {
  return event.type === "workflow_update" ? event : newsOf(view);
}

/** The calls that have cards of their own. */
export const COMPLETE = "complete_step";
export const VERIFY = "verify_step";
export const REVIEW = "review_step";
export const PLANNED = "planned_step";
export const OUTPUT = "__step_output__";

export const CALLS: ReadonlySet<string> = new Set([COMPLETE, VERIFY, REVIEW, PLANNED, OUTPUT]);
