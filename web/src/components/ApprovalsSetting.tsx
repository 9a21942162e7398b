// The tools that the reader allowed for the whole of the open chat, each with a way to withdraw the approval.

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
      <Disclosure label="Tools that run in this chat without asking">
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
        label="Tools that run in this chat without asking"
        none="You allowed no tool for the whole chat."
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
