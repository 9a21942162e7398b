// A limit that the answer would cross: the reader allows it the same budget once more, or ends the answer.

import { en } from "../en";
import { costParts, limitText } from "../turn/status";
import type { LimitRequest } from "../turn/view";
import { Choices } from "./Choices";

export function LimitCard({ request }: { request: LimitRequest }) {
  const { id, reason, limit, raisedTo, grantsLeft, usage, expiresAt, decision } = request;
  const more = limitText(reason, raisedTo);
  if (decision !== null) {
    const { approve, deny, expired } = en.limit.decided;
    const words = decision === "approve" ? approve(more) : decision === "expired" ? expired : deny;
    return (
      <p className="approval-decided" data-testid="limit-decided" data-decision={decision}>
        {words}
      </p>
    );
  }
  const title = en.limit.ask(limitText(reason, limit));
  return (
    <section className="approval" data-testid="limit-request" aria-label={title}>
      <h3>{title}</h3>
      <p>{en.limit.used(costParts(usage))}</p>
      <p>
        {en.limit.gives(more)} {en.limit.times(grantsLeft)}
      </p>
      <Choices id={id} choices={en.limit.choices} expiresAt={expiresAt} />
    </section>
  );
}
