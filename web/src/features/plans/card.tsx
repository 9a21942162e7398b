// The card of a call that made a plan or acts on one.

import { createContext, useContext, useMemo, type ReactNode } from "react";
import { useTurnFrame } from "../../components/TurnContext";
import type { Card } from "../../feature";
import { part } from "../../state/parts";
import { childrenOf, type Outline } from "../../turn/outline";
import type { ToolEntry, TurnEntry, TurnView } from "../../turn/view";
import type { Plan } from "../../wire.generated";
import { words } from "./en";
import { checklistOf, ended, planCalls, plansOf } from "./plan";

export const planBody = part(() => import("./PlanBody").then((module) => module.PlanBody));

/** The call by which the service chooses models and the amount of work. */
export const ROUTE = "route_request";
export const routeCard = part(() => import("./route/card").then((module) => module.routeCard));

/** The plans of a turn by the calls that show them. */
const Plans = createContext<ReadonlyMap<string, Plan>>(new Map());

export function PlansProvider({ view, children }: { view: TurnView; children: ReactNode }) {
  const { plans } = plansOf(view);
  const shown = useMemo(() => planCalls(view), [view.entries, plans]);
  return <Plans value={shown}>{children}</Plans>;
}

export function usePlanCard(call: ToolEntry, outline: Outline): Card | null {
  const plan = useContext(Plans).get(call.id) ?? null;
  const PlanBody = planBody.use(plan !== null);
  const { waits } = useTurnFrame();
  const route = routeCard.use(call.name === ROUTE);
  if (call.name === ROUTE) return route && route(call);
  if (!plan) return null;
  return {
    title: words.title,
    gist: (open) => plan.intent_label ?? (open ? "" : plan.objective),
    meta: <Progress plan={plan} inside={childrenOf(outline, call.id)} />,
    waiting: waits && plan.status === "pending_review",
    body: PlanBody && <PlanBody plan={plan} call={call} outline={outline} />,
  };
}

function Progress({ plan, inside }: { plan: Plan; inside: readonly TurnEntry[] }) {
  const items = checklistOf(plan, inside);
  return (
    <span data-testid="plan-progress">
      {plan.status === "pending_review" ? words.draft(items.length) : words.progress(items.filter(ended).length, items.length)}
    </span>
  );
}
