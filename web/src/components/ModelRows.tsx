// The models of a turn below its timeline: a row for each model, from the turn's ledger. The sums of a row include requests
// that failed, which have no lane.

import { en } from "../en";
import { turnWords } from "../turn/en";
import { compact, money } from "../turn/status";
import type { CostSummary } from "../wire";

/** Null until the turn has ended. */
export function ModelRows({ cost }: { cost: CostSummary | null }) {
  const models = Object.entries(cost?.by_model ?? {});
  if (models.length === 0) return null;
  const { columns } = turnWords.work;
  return (
    <div className="models-used" tabIndex={0} role="group" aria-label={turnWords.work.models}>
      <table data-testid="model-rows">
        <thead>
          <tr>
            <th scope="col">{columns.model}</th>
            <th scope="col">{columns.calls}</th>
            <th scope="col">{columns.input}</th>
            <th scope="col">{columns.output}</th>
            <th scope="col">{columns.cost}</th>
          </tr>
        </thead>
        <tbody>
          {models.map(([model, { llm_calls, input_tokens, output_tokens, cost_usd }]) => (
            <tr key={model} data-testid="model-row">
              <th scope="row">{model}</th>
              <td>{llm_calls.toLocaleString("en")}</td>
              <td title={input_tokens.toLocaleString("en")}>{compact(input_tokens)}</td>
              <td title={output_tokens.toLocaleString("en")}>{compact(output_tokens)}</td>
              <td>{cost_usd === null ? en.common.unknown : cost_usd === 0 ? en.common.none : money(cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
