// Whether Espalier remembers, what it remembers, and a way to make it forget.

import { useEffect } from "react";
import { forget, forgetAll, memories } from "../state/memories";
import { setMemory, settings } from "../state/settings";
import { useStore } from "../state/store";
import { agoText } from "../turn/measures";
import { Confirm } from "./Confirm";
import { Disclosure } from "./Disclosure";
import { TrashIcon } from "./Icons";
import { PagedList } from "./PagedList";

export function MemorySetting() {
  const { memory } = useStore(settings);
  return (
    <section className="setting">
      <h3>Memory</h3>
      <label className="switch">
        <input
          type="checkbox"
          role="switch"
          data-testid="memory-switch"
          checked={memory}
          onChange={(event) => setMemory(event.target.checked)}
        />
        <span>
          Remember me from one chat to the next
          <small>Espalier may then note what you tell it, and use it in your other chats.</small>
        </span>
      </label>
      <Disclosure label="What is remembered">
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
    <div className="memories" data-testid="memories">
      <PagedList
        list={memories}
        label="What is remembered"
        none="Nothing is remembered."
        more="Show older ones"
        row={(memory) => (
          <li key={memory.id} className="row" data-testid="memory">
            <div className="row-words">
              <span className="row-name">{memory.content}</span>
              <span className="row-more">{agoText(memory.updated_at, Date.now())}</span>
            </div>
            <Confirm
              label={`Forget “${memory.content.slice(0, 60)}”`}
              question="Forget this?"
              yes="Forget"
              testId="memory-forget"
              act={async () => void (await forget(memory))}
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
            question="Forget all that is remembered?"
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
