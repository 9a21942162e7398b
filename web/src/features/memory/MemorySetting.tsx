// The section of the settings that turns memory on, lists the memories and deletes them.

import { useEffect } from "react";
import { Confirm, ConfirmLink } from "../../components/Confirm";
import { Disclosure } from "../../components/Disclosure";
import { TrashIcon } from "../../components/Icons";
import { PagedList } from "../../components/PagedList";
import { useStore } from "../../state/store";
import { agoText } from "../../turn/measures";
import { words } from "./en";
import { enableMemory, memory } from "./enabled";
import { forget, forgetAll, memories } from "./memories";
import "./memory.css";

export function MemorySetting() {
  const { enabled } = useStore(memory);
  return (
    <section className="setting">
      <h3>{words.title}</h3>
      <label className="switch">
        <input
          type="checkbox"
          role="switch"
          data-testid="memory-switch"
          checked={enabled}
          onChange={(event) => enableMemory(event.target.checked)}
        />
        <span>
          {words.on}
          <small>{words.onNote}</small>
        </span>
      </label>
      <Disclosure label={words.list}>
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
        label={words.list}
        none={words.none}
        more={words.older}
        row={(each) => (
          <li key={each.id} className="row" data-testid="memory">
            <div className="row-words">
              <span className="row-name" dir="auto">{each.content}</span>
              <span className="row-more">{agoText(each.updated_at, Date.now())}</span>
            </div>
            <Confirm
              label={words.forget(each.content.slice(0, 60))}
              question={words.forgetQuestion}
              yes={words.forgetNow}
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
          <ConfirmLink
            label={words.forgetAll}
            question={words.forgetAllQuestion}
            testId="memory-forget-all"
            act={forgetAll}
          />
        </div>
      )}
    </div>
  );
}
