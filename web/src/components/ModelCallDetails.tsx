// The figures of one model call: short ones in its lane, all of them below the lanes.

import { en } from "../en";
import { turnWords } from "../turn/en";
import { compact, durationText, money } from "../turn/status";
import type { ModelLane } from "../turn/timeline";
import type { ModelCall } from "../turn/view";

/** Time to the first word, tokens and cost, as far as they are known: to see, and to hear. */
export function figuresOf({ firstByteMs, usage, costUsd, finishReason }: ModelCall): { shown: string; spoken: string } {
  const { work } = turnWords;
  const shown: string[] = [];
  const spoken: string[] = [];
  if (firstByteMs !== null) {
    shown.push(durationText(firstByteMs));
    spoken.push(work.firstByte(durationText(firstByteMs)));
  }
  if (usage) {
    shown.push(work.tokens(compact(usage.input_tokens), compact(usage.output_tokens)));
    spoken.push(work.tokensInWords(compact(usage.input_tokens), compact(usage.output_tokens)));
  }
  if (costUsd) {
    shown.push(money(costUsd));
    spoken.push(money(costUsd));
  }
  return { shown: shown.join(" · "), spoken: spoken.join(", ") || endOf(finishReason) };
}

function endOf(finishReason: string | null): string {
  return finishReason === null ? turnWords.work.stillRuns : (turnWords.work.ends[finishReason] ?? finishReason);
}

export function ModelCallDetails({ id, lane: { call, from } }: { id: string; lane: ModelLane }) {
  const { details, stillRuns } = turnWords.work;
  const { firstByteMs, durationMs, usage, costUsd, finishReason } = call;
  const { unknown, none } = en.common;
  const number = (n: number) => n.toLocaleString("en");
  const estimated = usage?.estimated ? details.estimated : "";
  const rows: [string, string][] = [
    [details.started, durationText(from)],
    [details.firstByte, firstByteMs === null ? unknown : durationText(firstByteMs)],
    [details.duration, durationMs === null ? stillRuns : durationText(durationMs)],
    [details.input, usage ? `${number(usage.input_tokens)}${usage.cached_tokens > 0 ? details.cached(number(usage.cached_tokens)) : ""}${estimated}` : unknown],
    [details.output, usage ? `${number(usage.output_tokens)}${estimated}` : unknown],
    [details.cost, costUsd === null ? unknown : costUsd === 0 ? none : money(costUsd)],
    [details.ended, endOf(finishReason)],
  ];
  return (
    <section id={id} className="call-details" data-testid="model-call-details" aria-label={details.title(call.model)}>
      <h3>
        <bdi>{call.model}</bdi>
      </h3>
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
