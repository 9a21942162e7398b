// The usage of the user's turns in the last 30 days, by day, operation, model or context.

import { useEffect, useState } from "react";
import { wordsFor } from "../api/http";
import { readUsage } from "../api/threads";
import { en } from "../en";
import { compact, money } from "../turn/status";
import { sumsBy, total, type By, type Sum } from "../turn/usage";
import type { UsageRow } from "../wire";
import { Disclosure } from "./Disclosure";
import { Problem } from "./PagedList";
import "../styles/usage.css";

const BY: Record<By, string> = en.usage.columns;

export function UsageSetting() {
  return (
    <section className="setting">
      <h3>{en.usage.title}</h3>
      <Disclosure label={en.usage.open}>
        <Usage />
      </Disclosure>
    </section>
  );
}

function Usage() {
  const [rows, setRows] = useState<readonly UsageRow[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [by, setBy] = useState<By>("day");
  const read = () => {
    setProblem(null);
    readUsage().then(
      ({ usage }) => setRows(usage),
      (error: unknown) => setProblem(wordsFor(error)),
    );
  };
  useEffect(read, []);
  if (problem !== null) return <Problem words={problem} onRetry={read} />;
  if (rows === null || rows.length === 0) {
    return (
      <p className="side-note" role="status">
        {rows === null ? en.common.loading : en.usage.none}
      </p>
    );
  }
  const sums = sumsBy(rows, by);
  return (
    <>
      <label className="usage-by">
        {en.usage.by}{" "}
        <select data-testid="usage-by" value={by} onChange={(event) => setBy(event.target.value as By)}>
          {Object.entries(BY).map(([each, words]) => (
            <option key={each} value={each}>
              {words.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <div className="usage-frame" tabIndex={0} role="group" aria-label={en.usage.title}>
        <table className="usage" data-testid="usage">
          <thead>
            <tr>
              <th scope="col">{BY[by]}</th>
              <th scope="col">{en.usage.calls}</th>
              <th scope="col">{en.usage.tokens}</th>
              <th scope="col">{en.usage.cost}</th>
            </tr>
          </thead>
          <tbody>
            {sums.map((sum) => (
              <Row key={sum.name} sum={sum} />
            ))}
          </tbody>
          <tfoot>
            <Row sum={total(sums)} />
          </tfoot>
        </table>
      </div>
      <p className="side-note">{en.usage.note}</p>
    </>
  );
}

function Row({ sum: { name, calls, tokens, cost } }: { sum: Sum }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{calls.toLocaleString("en")}</td>
      <td title={tokens.toLocaleString("en")}>{compact(tokens)}</td>
      <td>{cost === null ? en.common.unknown : cost === 0 ? en.common.none : money(cost)}</td>
    </tr>
  );
}
