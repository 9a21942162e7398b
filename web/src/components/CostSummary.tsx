import { costParts } from "../turn/status";
import type { CostSummary as Costs } from "../wire";

export function CostSummary({ cost }: { cost: Costs }) {
  return (
    <p className="cost-summary" data-testid="cost-summary">
      {costParts(cost).join(" · ")}
    </p>
  );
}
