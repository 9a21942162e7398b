// A call that the reader must allow before it runs.

import { useEffect } from "react";
import { useQuestion } from "../feature";
import { effectOf, visibly } from "../turn/approval";
import { turnWords } from "../turn/en";
import { keepFilled } from "../turn/form";
import type { Approval } from "../turn/view";
import type { Decision } from "../wire";
import { Named } from "./Named";
import { Choices } from "./Choices";
import { FormCard } from "./FormCard";

export function ApprovalCard({ approval }: { approval: Approval }) {
  const { id, name, args, decision, expiresAt } = approval;
  const own = useQuestion(approval);
  useEffect(() => {
    if (decision !== null) keepFilled(id, null);
  }, [decision]);
  if (decision !== null) {
    return (
      <p className="approval-decided" data-testid="approval-decided" data-decision={decision}>
        <Named name={name}>{own?.decided[decision] ?? decided(approval, decision)}</Named>
      </p>
    );
  }
  if (approval.form !== null) return <FormCard id={id} form={approval.form} expiresAt={expiresAt} />;
  if (own) {
    return (
      <section className="approval" data-testid="approval" aria-label={own.ask}>
        <h3 dir="auto">{own.ask}</h3>
        {own.body}
        <Choices id={id} choices={own.choices} expiresAt={expiresAt} />
      </section>
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
      <Choices id={id} choices={turnWords.approval.choices} expiresAt={expiresAt} />
    </section>
  );
}

function decided({ name, form }: Approval, decision: Decision): string {
  if (form === null) return turnWords.approval.decided[decision](name);
  const { approve, deny, expired } = turnWords.form.decided;
  return (decision === "approve" ? approve : decision === "expired" ? expired : deny)(visibly(form.server));
}
