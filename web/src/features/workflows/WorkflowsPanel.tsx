// The panel in which a person reads, writes and deletes workflows, starts one in a chat, and goes on with the one that waits
// in the open chat.

import { useEffect } from "react";
import { focusNext } from "../../components/focus";
import { BackIcon, ChevronIcon, PlusIcon } from "../../components/Icons";
import { Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { useStore } from "../../state/store";
import { agoText } from "../../turn/measures";
import type { WorkflowSummary } from "../../wire.generated";
import { words as names } from "./en";
import { Editor } from "./panel/Editor";
import { words } from "./panel/en";
import { Here } from "./panel/Start";
import { Workflow } from "./panel/Workflow";
import { workflows } from "./workflows";
import "../../components/form.css";
import "./panel.css";

export function WorkflowsPanel({ chat, onClose }: PanelProps) {
  const { openId, open, draft, saved, problem, phase } = useStore(workflows.desk);
  useEffect(() => workflows.show(), []);
  const title = draft?.isNew ? words.add : (open?.name ?? names.title);
  return (
    <Side title={title} testId="workflows" onClose={onClose}>
      {draft !== null ? (
        <Editor key={draft.begun} draft={draft} />
      ) : openId !== null ? (
        <>
          <button type="button" className="back-button" data-testid="workflows-back" autoFocus onClick={() => void back(openId)}>
            <BackIcon />
            {words.all}
          </button>
          <Problem words={problem} onRetry={() => void workflows.load()} />
          {open ? (
            <Workflow chat={chat} workflow={open} saved={saved} onClose={onClose} />
          ) : (
            problem === null && (
              <p className="side-note" role="status">
                {en.common.loading}
              </p>
            )
          )}
        </>
      ) : (
        <>
          <p className="side-lead">{words.lead}</p>
          <Here onClose={onClose} />
          <Problem words={problem} onRetry={phase === "failed" ? () => void workflows.load() : null} />
          <List />
        </>
      )}
    </Side>
  );
}

/** Back to the list, where the person came from. */
async function back(id: string): Promise<void> {
  await workflows.open(null);
  focusNext(() => document.querySelector<HTMLElement>(`[data-workflow="${CSS.escape(id)}"] button`));
}

function List() {
  const { list, max, phase } = useStore(workflows.desk);
  const own = list.filter((each) => !each.built_in).length;
  return (
    <>
      <ul aria-label={words.list} aria-busy={phase === "loading"}>
        {list.map((each) => (
          <Row key={each.workflow_id} workflow={each} />
        ))}
      </ul>
      <p className="side-note" role="status">
        {phase === "loading" && en.common.loading}
        {phase === "ready" && list.length === 0 && words.none}
        {own >= max && words.full(max)}
      </p>
      {phase === "ready" && own < max && (
        <button type="button" className="outline-button workflow-add" data-testid="workflow-new" onClick={() => workflows.write()}>
          <PlusIcon />
          {words.add}
        </button>
      )}
    </>
  );
}

function Row({ workflow: { workflow_id: id, name, steps, version, built_in: isBuiltIn, updated_at: updatedAt } }: { workflow: WorkflowSummary }) {
  const more = isBuiltIn ? words.builtIn : [words.version(version), ...(updatedAt ? [agoText(updatedAt, Date.now())] : [])].join(" · ");
  return (
    <li className="row" data-testid="workflow" data-workflow={id}>
      <button type="button" className="row-open" data-testid="workflow-open" onClick={() => void workflows.open(id)}>
        <span className="row-words">
          <span className="row-name" dir="auto">{name}</span>
          <span className="row-more">{words.about(steps, more)}</span>
          <span className="visually-hidden">{words.open(name)}</span>
        </span>
        <ChevronIcon />
      </button>
    </li>
  );
}
