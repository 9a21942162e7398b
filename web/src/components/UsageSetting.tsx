// The usage of the user's turns in the last 30 days, by day, operation, model or context.

import { useEffect, useState } from "react";
import { wordsFor } from "../api/http";
import { readUsage } from "../api/threads";
import { en } from "../en";
import { usage as words } from "../settings/en";
import { compact, money } from "../turn/status";
import { sumsBy, total, type By, type Sum } from "../turn/usage";
import type { UsageRow } from "../wire";
import { Disclosure } from "./Disclosure";
import { Problem } from "./PagedList";
import "../styles/usage.css";

const BY: Record<By, string> = words.columns;

export function UsageSetting() {
  return (
    <section className="setting">
      <h3>{words.title}</h3>
      <Disclosure label={words.open}>
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
        {rows === null ? en.common.loading : words.none}
      </p>
    );
  }
  const sums = sumsBy(rows, by);
  return (
    <>
      <label className="usage-by">
        {words.by}{" "}
        <select data-testid="usage-by" value={by} onChange={(event) => setBy(event.target.value as By)}>
          {Object.entries(BY).map(([each, words]) => (
            <option key={each} value={each}>
              {words.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <div className="usage-frame" tabIndex={0} role="group" aria-label={words.title}>
        <table className="usage" data-testid="usage">
          <thead>
            <tr>
              <th scope="col">{BY[by]}</th>
              <th scope="col">{words.calls}</th>
              <th scope="col">{words.tokens}</th>
              <th scope="col">{words.cost}</th>
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
      <p className="side-note">{words.note}</p>
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
