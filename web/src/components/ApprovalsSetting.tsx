// What runs in the open chat without a question because the reader allowed it there, and a way to be asked again.

import { useEffect } from "react";
import { approvals, withdraw } from "../state/approvals";
import { conversation } from "../state/page";
import { useStore } from "../state/store";
import { Disclosure } from "./Disclosure";
import { PagedList } from "./PagedList";

export function ApprovalsSetting() {
  const { threadId } = useStore(conversation.store);
  if (threadId === null) return null;
  return (
    <section className="setting">
      <h3>Approvals</h3>
      <Disclosure label="What may run in this chat without asking">
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
    <div className="memories" data-testid="standing-approvals">
      <PagedList
        list={approvals}
        label="What may run in this chat without asking"
        none="Nothing was allowed for the whole chat."
        row={(approval) => (
          <li key={approval.id} className="row" data-testid="standing-approval">
            <div className="row-words">
              <code className="row-name">{approval.id}</code>
            </div>
            <button
              type="button"
              className="link-button"
              data-testid="withdraw-approval"
              aria-label={`Ask again before ${approval.id} runs`}
              onClick={() => void withdraw(approval)}
            >
              Ask again
            </button>
          </li>
        )}
      />
    </div>
  );
}
