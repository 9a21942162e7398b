// The words of the status chip while a plan runs or waits.

import type { Status } from "../../turn/status";
import type { TurnView } from "../../turn/view";
import { ended, runningPlan } from "./plan";

export const DRAFT_WAITS: Status = {
  key: "waiting",
  label: "Waiting on you",
  words: "A plan waits for your word: say in a message whether to run, change or drop it.",
};

/** Null where no plan of the turn runs yet. */
export function planStatus(view: TurnView): Status | null {
  const items = runningPlan(view)?.items ?? [];
  if (items.length === 0) return null;
  const active = items.filter(({ state }) => state === "active");
  const numbers = active.map(({ number }) => number).join(", ");
  const place = active.length === 0 ? "" : ` · ${active.length === 1 ? "step" : "steps"} ${numbers} of ${items.length}`;
  const now = active.map(({ number, step }) => `${number}. ${step.title}`).join("; ");
  const done = `${items.filter(ended).length} of ${items.length} steps are done.`;
  return {
    key: "plan",
    label: `Executing plan${place}`,
    words: `A plan is carried out, step by step. ${done}${now === "" ? "" : ` Now: ${now}.`}`,
  };
}
