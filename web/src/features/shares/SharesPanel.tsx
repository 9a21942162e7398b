// The panel of share links: a form that makes one of the open chat, and the links that there are.

import { useEffect, useState } from "react";
import { Confirm } from "../../components/Confirm";
import { CopyButton } from "../../components/CopyButton";
import { Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { threads } from "../../state/page";
import { useStore } from "../../state/store";
import { agoText } from "../../turn/measures";
import type { ShareSummary } from "../../wire.generated";
import { words as names } from "./en";
import { words } from "./panel/en";
import { forgetMade, making, revoke, share, shares } from "./shares";
import "./shares.css";

const PARTS = ["tools", "reasoning", "files"] as const;
const NOTHING = { tools: false, reasoning: false, files: false };
const DAYS = [1, 7, 30, 365];

export function SharesPanel({ threadId, onClose }: PanelProps) {
  const { phase, items, problem } = useStore(shares.store);
  useEffect(() => {
    shares.forget();
    void shares.load();
    return forgetMade;
  }, []);
  const mine = items.filter((item) => item.thread_id === threadId);
  const others = items.filter((item) => item.thread_id !== threadId);
  return (
    <Side title={names.title} testId="shares" onClose={onClose}>
      {threadId === null ? <p className="side-note">{words.noChat}</p> : <Form key={threadId} threadId={threadId} />}
      <Problem words={problem} onRetry={phase === "failed" ? () => void shares.load() : null} />
      <Links label={words.ofChat} items={mine} />
      <Links label={words.ofOthers} items={others} titled />
      <p className="side-note" role="status">
        {phase === "loading" && en.common.loading}
        {phase === "ready" && items.length === 0 && words.none}
      </p>
    </Side>
  );
}

function Form({ threadId }: { threadId: string }) {
  const [chosen, setChosen] = useState(NOTHING);
  const [days, setDays] = useState<number | null>(null);
  const { busy, problem } = useStore(making);
  return (
    <form
      className="share-form"
      onSubmit={(event) => {
        event.preventDefault();
        void share(threadId, days === null ? chosen : { ...chosen, expires_in_days: days });
      }}
    >
      <p className="side-lead">{words.lead}</p>
      <Titled threadId={threadId} />
      <fieldset>
        <legend>{words.choose}</legend>
        {PARTS.map((part) => (
          <label key={part} className="share-choice">
            <input
              type="checkbox"
              data-testid={`share-${part}`}
              checked={chosen[part]}
              onChange={(event) => setChosen({ ...chosen, [part]: event.target.checked })}
            />
            <span>{words[part]}</span>
          </label>
        ))}
      </fieldset>
      <label className="share-ends">
        <span>{words.ends}</span>
        <select value={days ?? ""} data-testid="share-days" onChange={(event) => setDays(Number(event.target.value) || null)}>
          <option value="">{words.never}</option>
          {DAYS.map((each) => (
            <option key={each} value={each}>{words.after(each)}</option>
          ))}
        </select>
      </label>
      <button type="submit" className="primary-button small" data-testid="share-create" disabled={busy}>
        {busy ? words.creating : words.create}
      </button>
      <Problem words={problem} />
      <Made threadId={threadId} />
    </form>
  );
}

/** The title that readers will see. The list may not have the chat yet. */
function Titled({ threadId }: { threadId: string }) {
  const { threads: all, found } = useStore(threads.store);
  const title = [...all, ...(found ?? [])].find(({ id }) => id === threadId)?.title.trim();
  return (
    <p className="side-note" data-testid="share-title">
      {title ? <>{words.titledSo} <q dir="auto">{title}</q></> : words.titled}
    </p>
  );
}

/** The link that was just made. */
function Made({ threadId }: { threadId: string }) {
  const { made } = useStore(making);
  return (
    <div role="status">
      {made?.threadId === threadId && (
        <>
          <p className="side-note">{words.created}</p>
          <div className="share-link">
            <input
              readOnly
              data-testid="share-link"
              aria-label={words.link}
              value={made.link}
              onFocus={(event) => event.target.select()}
            />
            <CopyButton text={made.link} what={words.copyLink} />
          </div>
        </>
      )}
    </div>
  );
}

function Links({ label, items, titled = false }: { label: string; items: readonly ShareSummary[]; titled?: boolean }) {
  if (items.length === 0) return null;
  return (
    <section>
      <h3>{label}</h3>
      <ul aria-label={label}>
        {items.map((item) => (
          <li key={item.id} className="row" data-testid="share">
            <div className="row-words">
              {titled && <span className="row-name" dir="auto">{item.title || words.untitled}</span>}
              <span className="row-more">{about(item)}</span>
            </div>
            <Confirm
              label={words.revoke}
              question={words.revokeQuestion}
              yes={words.revoke}
              className="link-button danger"
              testId="share-revoke"
              act={() => revoke(item)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function about(item: ShareSummary): string {
  const more = PARTS.filter((part) => item[part]).map((part) => words.with[part]);
  const until = item.expires_at === null ? [] : [words.until(new Date(item.expires_at).toLocaleDateString())];
  return [words.made(agoText(item.created_at, Date.now()), item.messages), ...more, ...until].join(" · ");
}
