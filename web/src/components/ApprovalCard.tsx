// A call that the reader must allow before it runs.

import { effectOf, visibly } from "../turn/approval";
import { turnWords } from "../turn/en";
import type { Approval } from "../turn/view";
import { Named } from "./Named";
import { Choices } from "./Choices";

export function ApprovalCard({ approval }: { approval: Approval }) {
  const { id, name, args, decision } = approval;
  if (decision !== null) {
    return (
      <p className="approval-decided" data-testid="approval-decided" data-decision={decision}>
        <Named name={name}>{turnWords.approval.decided[decision](name)}</Named>
      </p>
    );
  }
  return (
    <section className="approval" data-testid="approval" aria-label={turnWords.approval.ask(name)}>
      <h3>
        <Named name={name}>{turnWords.approval.ask(name)}</Named>
      </h3>
      <p data-testid="approval-effect">{effectOf(approval)}</p>
      <p className="tool-label">{turnWords.approval.arguments}</p>
      <pre className="tool-result" tabIndex={0} dir="ltr">
        {visibly(JSON.stringify(args, null, 2))}
      </pre>
      <Choices id={id} choices={turnWords.approval.choices} expiresAt={approval.expiresAt} />
    </section>
  );
}
