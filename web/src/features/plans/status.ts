// The words of the status chip while a plan runs or waits.

import { en } from "../../en";
import type { Status } from "../../turn/status";
import type { TurnView } from "../../turn/view";
import { words } from "./en";
import { ended, runningPlan } from "./plan";

export const DRAFT_WAITS: Status = {
  key: "waiting",
  label: en.status.waiting,
  words: words.waitsWords,
};

/** Null where no plan of the turn runs yet. */
export function planStatus(view: TurnView): Status | null {
  const items = runningPlan(view)?.items ?? [];
  if (items.length === 0) return null;
  const active = items.filter(({ state }) => state === "active");
  const numbers = active.map(({ number }) => number);
  const place = active.length === 0 ? "" : words.place(numbers, items.length);
  const now = active.map(({ number, step }) => words.step(number, step.title)).join("; ");
  const done = words.doneWords(items.filter(ended).length, items.length);
  return {
    key: "plan",
    label: `${en.status.plan}${place}`,
    words: `${en.status.planWords} ${done}${now === "" ? "" : words.nowWords(now)}`,
  };
}
