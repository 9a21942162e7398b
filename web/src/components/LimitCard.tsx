// A limit that the answer would cross: the reader allows it the same budget once more, or ends the answer.

import { turnWords } from "../turn/en";
import { costParts, limitText } from "../turn/status";
import type { LimitRequest } from "../turn/view";
import { Choices } from "./Choices";

export function LimitCard({ request }: { request: LimitRequest }) {
  const { id, reason, limit, raisedTo, grantsLeft, usage, expiresAt, decision } = request;
  const more = limitText(reason, raisedTo);
  if (decision !== null) {
    const { approve, deny, expired } = turnWords.limit.decided;
    const words = decision === "approve" ? approve(more) : decision === "expired" ? expired : deny;
    return (
      <p className="approval-decided" data-testid="limit-decided" data-decision={decision}>
        {words}
      </p>
    );
  }
  const title = turnWords.limit.ask(limitText(reason, limit));
  return (
    <section className="approval" data-testid="limit-request" aria-label={title}>
      <h3>{title}</h3>
      <p>{turnWords.limit.used(costParts(usage))}</p>
      <p>
        {turnWords.limit.gives(more)} {turnWords.limit.times(grantsLeft)}
      </p>
      <Choices id={id} choices={turnWords.limit.choices} expiresAt={expiresAt} />
    </section>
  );
}
