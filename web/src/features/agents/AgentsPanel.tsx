// The panel in which a person reads the agents of the open chat, talks to one, ends it, saves it and restores it,
// and the hooks that watch them.

import { useEffect } from "react";
import { Disclosure } from "../../components/Disclosure";
import { BackIcon, ChevronIcon, SaveIcon } from "../../components/Icons";
import { Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { conversation, page } from "../../state/page";
import { useStore } from "../../state/store";
import type { AgentSummary, MainAgent } from "../../wire.generated";
import { choice, NOTHING, talkTo, turnOn } from "./choice";
import { words as names } from "./en";
import { agentsOf, type AgentsOfTurn } from "./knowledge";
import { Hooks } from "./hooks/Hooks";
import { Agent } from "./panel/Agent";
import { agents, MAIN } from "./panel/agents";
import { words } from "./panel/en";
import { Restore } from "./panel/Restore";
import { TalkButton } from "./panel/TalkButton";
import "../../components/form.css";
import "./panel.css";

export function AgentsPanel({ chat, threadId, onClose }: PanelProps) {
  const { open, main, agents: kept, problem, phase } = useStore(agents.desk);
  const { running, exchanges } = useStore(conversation.store);
  const last = exchanges.at(-1);
  // The agents are those of the conversation on screen, as its last turn left them.
  const end = running === null ? (last?.turnId ?? null) : null;
  useEffect(() => void agents.show(threadId), [threadId, end]);
  const states = (running && last?.answer ? agentsOf(last.answer) : null)?.states ?? {};
  const opened = kept.find(({ name }) => name === open);
  const close = () => {
    void agents.open(null);
    onClose();
  };
  return (
    <Side title={opened ? opened.name : names.title} testId="agents" onClose={close}>
      {opened ? (
        <>
          <button type="button" className="back-button" data-testid="agents-back" autoFocus onClick={() => void agents.open(null)}>
            <BackIcon />
            {words.all}
          </button>
          <Problem words={problem} />
          <Agent key={opened.name} chat={chat} agent={opened} state={stateOf(opened, states)} />
        </>
      ) : (
        <>
          <p className="side-lead">{words.lead}</p>
          <Switch chat={chat} />
          <Problem words={problem} onRetry={phase === "failed" ? () => void agents.reload() : null} />
          <List chat={chat} kept={kept} states={states} />
          <p className="side-note" role="status">
            {phase === "loading" && en.common.loading}
            {threadId === null ? words.noChat : phase === "ready" && kept.length === 0 && Object.keys(states).length === 0 && words.none}
          </p>
          {main && <Main agent={main} />}
          {phase === "ready" && <Restore />}
          {threadId !== null && <Hooks chat={chat} threadId={threadId} />}
        </>
      )}
    </Side>
  );
}

function Switch({ chat }: { chat: string }) {
  const { on, to } = useStore(choice.store).byChat[chat] ?? NOTHING;
  const { health } = useStore(page);
  if (health?.agents === false) return <p className="side-note">{words.off}</p>;
  return (
    <div>
      <label className="row-choice">
        <input type="checkbox" data-testid="agents-on-switch" checked={on || to !== null} onChange={(event) => turnOn(chat, event.target.checked)} />
        <span className="row-words">
          <span className="row-name">{words.switch}</span>
          <span className="row-more">{names.mode.about}</span>
        </span>
      </label>
    </div>
  );
}

/** The prompt of the agent that answers, as the open turn or the next one has it. */
function Main({ agent: { instructions, turn_id } }: { agent: MainAgent }) {
  return (
    <div data-testid="main-prompt">
      <Disclosure label={words.mainPrompt}>
        <p className="side-note">{turn_id === null ? words.mainNext : words.mainNow}</p>
        <p className="agent-text" dir="auto">{instructions}</p>
        <button type="button" className="outline-button" data-testid="main-save" title={words.saveMain} onClick={() => void agents.save(MAIN)}>
          <SaveIcon />
          {words.save}
        </button>
      </Disclosure>
    </div>
  );
}

/** The agents that the service keeps, then those that the running turn has made. */
function List({ chat, kept, states }: { chat: string; kept: readonly AgentSummary[]; states: AgentsOfTurn["states"] }) {
  const made = Object.entries(states).filter(([name, { status }]) => status !== "terminated" && !kept.some((agent) => agent.name === name));
  return (
    <ul aria-label={words.list}>
      {kept.map((agent) => (
        <li key={agent.name} className="row" data-testid="agent" data-agent={agent.name}>
          <button type="button" className="row-open" data-testid="agent-open" onClick={() => void agents.open(agent.name)}>
            <span className="row-words">
              <span className="row-name">{agent.name}</span>
              <span className="row-more">{aboutAgent(agent.parent, stateOf(agent, states))}</span>
              <span className="visually-hidden">{words.open(agent.name)}</span>
            </span>
            <ChevronIcon />
          </button>
          <TalkButton chat={chat} name={agent.name} talk={(to) => talkTo(chat, to)} />
        </li>
      ))}
      {made.map(([name, { parent, status }]) => (
        <li key={name} className="row" data-testid="agent" data-agent={name}>
          <span className="row-words">
            <span className="row-name">{name}</span>
            <span className="row-more">{aboutAgent(parent, words.states[status])}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function aboutAgent(parent: string | null, state: string): string {
  return parent === null ? state : `${state} · ${words.madeBy(parent)}`;
}

/** What an agent does: in the running turn, or after the last one. */
function stateOf({ name, heard }: AgentSummary, states: AgentsOfTurn["states"]): string {
  const live = states[name];
  if (live) return words.states[live.status];
  return heard.length === 0 ? words.states.silent : words.states.heard(heard.length);
}
