// Plans: the plan of a turn as a checklist within its card, and a draft that waits for the reader's word. It gives the
// page the card of a plan, the plans in the knowledge of a turn, and the words of the status chip while a plan runs.

import type { Feature } from "../../feature";
import { callsIn } from "../../turn/view";
import { planBody, PlansProvider, ROUTE, routeCard, usePlanCard } from "./card";
import { words } from "./en";
import { draftFor, MAKES_PLANS, plansAfter, plansOf, plansStored, STEP_TOOL, waitingPlan } from "./plan";
import { DRAFT_WAITS, planStatus } from "./status";

export const plans: Feature = {
  name: "plans",
  toolLabels: { [MAKES_PLANS]: words.making },
  turn: { levels: [STEP_TOOL], subtasks: [STEP_TOOL], begin: draftFor, after: plansAfter, stored: plansStored },
  waiting: (turns) => {
    const turnId = waitingPlan(turns)?.turnId;
    return turnId === undefined ? null : { turnId, status: DRAFT_WAITS, announcement: words.waits };
  },
  prepare: (turns) => {
    const answers = turns.flatMap(({ answer }) => answer ?? []);
    const parts = [
      answers.some((view) => plansOf(view).plans.length > 0) && planBody.load(),
      answers.some((view) => callsIn(view).some(({ name }) => name === ROUTE)) && routeCard.load(),
    ];
    return parts.some(Boolean) ? Promise.all(parts) : null;
  },
  planStatus,
  Around: PlansProvider,
  useCard: usePlanCard,
};
