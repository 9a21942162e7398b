// A discussion within its card: each speaker's words under its name. Its calls hang below them, as in every card.

import { useId } from "react";
import { Entries } from "../../components/Entries";
import { Clamp } from "../../components/Clamp";
import { Elapsed } from "../../components/Elapsed";
import { cardId } from "../../components/ToolCallCard";
import { useTurnFrame } from "../../components/TurnContext";
import type { Card } from "../../feature";
import type { Outline } from "../../turn/outline";
import { shareText } from "../../turn/status";
import type { ToolEntry } from "../../turn/view";
import { discussionOf, namesIn, textIn, type Speech } from "./speeches";
import { words as names } from "./en";
import { words } from "./panel/en";
import "./discussion.css";

/** The card of a call. Where nobody was asked or told, the core draws arguments and result. */
export function cardOf(call: ToolEntry, outline: Outline): Card {
  const { speeches, listeners } = discussionOf(call, outline);
  const isEmpty = speeches.length + listeners.length === 0;
  const isTask = call.name === "task";
  const asked = textIn(call, "prompt").replace(/\s+/g, " ").slice(0, 120);
  const gist = !isTask ? namesIn(call, outline) : isEmpty && call.status === "done" ? names.made : asked;
  return {
    title: isTask ? names.task(textIn(call, "name")) : names.discussion,
    gist: (open) => (open && isTask && !isEmpty ? "" : gist),
    meta: speeches.length > 1 && <span className="tool-inside">{names.speeches(speeches.length)}</span>,
    folded: isEmpty,
    body: isEmpty ? null : <Discussion call={call} outline={outline} />,
  };
}

function Discussion({ call, outline }: { call: ToolEntry; outline: Outline }) {
  const { tokens } = useTurnFrame();
  const { prompt, speeches, listeners } = discussionOf(call, outline);
  return (
    <div className="discussion" data-testid="discussion">
      {prompt !== "" && (
        <Clamp growing={false}>
          <p className="discussion-prompt" dir="auto">
            {prompt}
          </p>
        </Clamp>
      )}
      {speeches.length > 0 && (
        <ol className="speeches" aria-label={words.speeches}>
          {speeches.map((speech) => (
            <SpeechItem key={speech.call.id} speech={speech} outline={outline} />
          ))}
        </ol>
      )}
      {listeners.length > 0 && (
        <p className="listeners" data-testid="listeners">
          {words.listening(listeners)}
        </p>
      )}
      {call.usage && (
        <p className="tool-share" data-testid="share">
          {shareText(call.usage, tokens)}
        </p>
      )}
    </div>
  );
}

function SpeechItem({ speech: { call, name, state, inside, note }, outline }: { speech: Speech; outline: Outline }) {
  const { turnId } = useTurnFrame();
  const label = useId();
  return (
    <li id={cardId(turnId, call.id)} className="speech" data-testid="speech" data-speaker={name} data-state={state} aria-labelledby={label}>
      <p className="speaker">
        <span id={label} className="speaker-name">{name}</span>
        {state === "speaking" && <span className="speaker-state">{words.speaking}</span>}
        <span className="speaker-time">
          <Elapsed call={call} />
        </span>
      </p>
      <Entries entries={inside} outline={outline} clamped />
      {state === "failed" && <p className="speech-failed">{words.failed(note)}</p>}
      {state === "cut" && <p className="speech-failed">{note || words.cut}</p>}
      {state === "said" && note !== "" && <p className="speech-note" dir="auto">{note}</p>}
    </li>
  );
}
