// The section of the settings that turns memory on, lists the memories and deletes them.

import { useEffect } from "react";
import { Confirm } from "../../components/Confirm";
import { Disclosure } from "../../components/Disclosure";
import { TrashIcon } from "../../components/Icons";
import { PagedList } from "../../components/PagedList";
import { useStore } from "../../state/store";
import { agoText } from "../../turn/measures";
import { enableMemory, memory } from "./enabled";
import { forget, forgetAll, memories } from "./memories";
import "./memory.css";

export function MemorySetting() {
  const { enabled } = useStore(memory);
  return (
    <section className="setting">
      <h3>Memory</h3>
      <label className="switch">
        <input
          type="checkbox"
          role="switch"
          data-testid="memory-switch"
          checked={enabled}
          onChange={(event) => enableMemory(event.target.checked)}
        />
        <span>
          Remember me from one chat to the next
          <small>Espalier may then note facts that you tell it, and use them in your other chats.</small>
        </span>
      </label>
      <Disclosure label="Your memories">
        <Remembered />
      </Disclosure>
    </section>
  );
}

function Remembered() {
  const { items } = useStore(memories.store);
  useEffect(() => {
    memories.forget();
    void memories.load();
  }, []);
  return (
    <div className="setting-list" data-testid="memories">
      <PagedList
        list={memories}
        label="Your memories"
        none="There are no memories yet."
        more="Show older ones"
        row={(each) => (
          <li key={each.id} className="row" data-testid="memory">
            <div className="row-words">
              <span className="row-name">{each.content}</span>
              <span className="row-more">{agoText(each.updated_at, Date.now())}</span>
            </div>
            <Confirm
              label={`Forget “${each.content.slice(0, 60)}”`}
              question="Forget this memory?"
              yes="Forget"
              testId="memory-forget"
              act={async () => void (await forget(each))}
            >
              <TrashIcon />
            </Confirm>
          </li>
        )}
      />
      {items.length > 0 && (
        <div className="memories-foot">
          <Confirm
            label="Forget all"
            question="Forget all memories?"
            yes="Forget all"
            className="link-button danger"
            testId="memory-forget-all"
            act={forgetAll}
          />
        </div>
      )}
    </div>
  );
}
