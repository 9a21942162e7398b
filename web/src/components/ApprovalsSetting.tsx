// The tools that the reader allowed for the whole of the open chat, each with a way to withdraw the approval.

import { useEffect } from "react";
import { approvals, withdraw } from "../state/approvals";
import { conversation } from "../state/page";
import { useStore } from "../state/store";
import { turnWords } from "../turn/en";
import { Disclosure } from "./Disclosure";
import { focusNext, neighbour } from "./focus";
import { PagedList } from "./PagedList";

export function ApprovalsSetting() {
  const { threadId } = useStore(conversation.store);
  if (threadId === null) return null;
  return (
    <section className="setting">
      <h3>{turnWords.approval.title}</h3>
      <Disclosure label={turnWords.approval.standing}>
        <Allowed key={threadId} />
      </Disclosure>
    </section>
  );
}

function Allowed() {
  useEffect(() => {
    approvals.forget();
    void approvals.load();
  }, []);
  return (
    <div className="setting-list" data-testid="standing-approvals">
      <PagedList
        list={approvals}
        label={turnWords.approval.standing}
        none={turnWords.approval.noStanding}
        row={(approval) => (
          <li key={approval.id} className="row" data-testid="standing-approval">
            <div className="row-words">
              <code className="row-name">{approval.id}</code>
            </div>
            <button
              type="button"
              className="link-button"
              data-testid="withdraw-approval"
              aria-label={turnWords.approval.askAgainFor(approval.id)}
              onClick={(event) => {
                const next = neighbour(event.currentTarget.closest("li"));
                const around = event.currentTarget.closest("dialog");
                void withdraw(approval).then(() => focusNext(() => (next ?? around)?.querySelector("button")));
              }}
            >
              {turnWords.approval.askAgain}
            </button>
          </li>
        )}
      />
    </div>
  );
}
