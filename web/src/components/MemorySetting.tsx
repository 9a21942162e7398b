// Whether Espalier remembers, what it remembers, and a way to make it forget.

import { useEffect } from "react";
import { forget, forgetAll, memories } from "../state/memories";
import { setMemory, settings } from "../state/settings";
import { useStore } from "../state/store";
import { agoText } from "../turn/measures";
import { Confirm } from "./Confirm";
import { Disclosure } from "./Disclosure";
import { TrashIcon } from "./Icons";

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
  const { phase, items, nextCursor, problem } = useStore(memories.store);
  useEffect(() => {
    memories.forget();
    void memories.load();
  }, []);
  return (
    <div className="memories" data-testid="memories">
      {problem && (
        <p className="side-problem" role="alert">
          {problem}
        </p>
      )}
      <ul aria-label="What is remembered" aria-busy={phase === "loading"}>
        {items.map((memory) => (
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
        ))}
      </ul>
      <p className="side-note" role="status">
        {phase === "loading" && "Loading…"}
        {phase === "ready" && items.length === 0 && "Nothing is remembered."}
      </p>
      <div className="memories-foot">
        {nextCursor !== null && (
          <button type="button" className="link-button" onClick={() => void memories.more()}>
            Show older ones
          </button>
        )}
        {items.length > 0 && (
          <Confirm
            label="Forget all"
            question="Forget all that is remembered?"
            yes="Forget all"
            className="link-button danger"
            testId="memory-forget-all"
            act={forgetAll}
          />
        )}
      </div>
    </div>
  );
}
