import { costParts } from "../turn/status";
import type { Usage } from "../wire";

export function CostSummary({ cost }: { cost: Usage }) {
  return (
    <p className="cost-summary" data-testid="cost-summary">
      {costParts(cost).join(" · ")}
    </p>
  );
}
