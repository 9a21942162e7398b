// One agent: its state, its instructions, what it heard and what it remembers.

import { useState } from "react";
import { Clamp } from "../../../components/Clamp";
import { ConfirmLink } from "../../../components/Confirm";
import { Disclosure } from "../../../components/Disclosure";
import { focusNext } from "../../../components/focus";
import { SaveIcon } from "../../../components/Icons";
import { Problem } from "../../../components/PagedList";
import { en } from "../../../en";
import { useStore } from "../../../state/store";
import type { AgentSummary } from "../../../wire.generated";
import { talkTo } from "../choice";
import { agents, type Round } from "./agents";
import { words } from "./en";
import { TalkButton } from "./TalkButton";
import { linesOf } from "./transcript";

/** A page of the service may have thousands of rounds: so many more of them are drawn at a time. */
const AT_A_TIME = 20;

interface Props {
  chat: string;
  agent: AgentSummary;
  state: string;
}

export function Agent({ chat, agent: { name, parent, instructions, code, heard, speakers, listeners, hooks }, state }: Props) {
  const people = [...speakers, ...listeners];
  return (
    <>
      <p className="side-note">
        {state}
        {parent !== null && ` · ${words.madeBy(parent)}`}
        {code !== null && ` · ${words.byCode(code)}`}
      </p>
      <div className="agent-acts">
        <TalkButton chat={chat} name={name} talk={(to) => talkTo(chat, to)} />
        <button type="button" className="outline-button" data-testid="agent-save" onClick={() => void agents.save(name)}>
          <SaveIcon />
          {words.save}
        </button>
      </div>
      <Disclosure label={words.instructions}>
        <p className="agent-text" dir="auto">{instructions || words.noInstructions}</p>
      </Disclosure>
      {heard.length > 0 && (
        <Disclosure label={words.heard(heard.length)}>
          {heard.map((text, index) => (
            <p key={index} className="agent-text" dir="auto">{text}</p>
          ))}
        </Disclosure>
      )}
      {hooks.length > 0 && (
        <Disclosure label={words.hooks(hooks.length)}>
          {hooks.map((hook) => (
            <p key={hook.name} className="agent-text" dir="auto">{`${hook.name}: ${hook.instructions ?? hook.builtin ?? words.byModel}`}</p>
          ))}
        </Disclosure>
      )}
      {people.length > 0 && <p className="side-note">{words.people(people)}</p>}
      <Memory name={name} />
      <div className="side-foot">
        <ConfirmLink
          label={words.remove}
          question={words.removeQuestion}
          yes={words.yes}
          testId="agent-end"
          act={async () => {
            if (await agents.end(name)) focusNext(() => document.querySelector<HTMLElement>("[data-testid=agents] [data-testid=agents-on-switch]"));
          }}
        />
      </div>
    </>
  );
}

/** The newest rounds at the end, as in a chat. */
function Memory({ name }: { name: string }) {
  const { phase, items, nextCursor, problem } = useStore(agents.rounds.store);
  const [most, setMost] = useState(AT_A_TIME);
  const shown = items.slice(0, most).reverse();
  const isMore = items.length > most || nextCursor !== null;
  const earlier = () => {
    if (items.length <= most) void agents.rounds.more();
    setMost(most + AT_A_TIME);
  };
  return (
    <section className="agent-memory" aria-label={words.memoryOf(name)}>
      <h3>{words.memory}</h3>
      <Problem words={problem} onRetry={phase === "failed" ? () => void agents.rounds.load() : null} />
      {isMore && (
        <button type="button" className="link-button" data-testid="agent-earlier" onClick={earlier}>
          {words.earlier}
        </button>
      )}
      <ol>
        {shown.map((round) => (
          <RoundItem key={round.id} round={round} />
        ))}
      </ol>
      <p className="side-note" role="status">
        {phase === "loading" && en.common.loading}
        {phase === "ready" && items.length === 0 && words.noMemory}
      </p>
    </section>
  );
}

function RoundItem({ round }: { round: Round }) {
  return (
    <li className="agent-round" data-testid="agent-round">
      {linesOf(round).map(({ kind, text }, index) => (
        <div key={index} className="agent-line" data-kind={kind}>
          <p className="agent-kind">{words.kinds[kind]}</p>
          <Clamp growing={false}>
            <p className="agent-text" dir="auto">{text}</p>
          </Clamp>
        </div>
      ))}
    </li>
  );
}
