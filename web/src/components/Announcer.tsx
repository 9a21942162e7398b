// Reads the running answer to those who listen: paragraph by paragraph as each is complete, then that it has ended.
// Every piece of the stream on its own would be noise.

import { useEffect, useRef, useState } from "react";
import type { ConversationState } from "../state/conversation";
import { noticeOf } from "../turn/status";
import { waitingPlan } from "../turn/plan";
import { answerText, openApprovals, type TurnView } from "../turn/view";

export function Announcer({ exchanges, running }: ConversationState) {
  const view = exchanges.at(-1)?.answer ?? null;
  const [words, setWords] = useState("");
  const read = useRef({ turnId: "", chars: 0 });

  useEffect(() => {
    if (!view) return;
    const place = read.current;
    // A turn that was over when it came on screen is text to be read, not news.
    if (place.turnId !== view.turnId) {
      read.current = { turnId: view.turnId, chars: running ? 0 : Infinity };
      return;
    }
    const { text, ended } = complete(view);
    const fresh = text.slice(place.chars).trim();
    if (place.chars === Infinity || (fresh === "" && !ended)) return;
    read.current = { turnId: view.turnId, chars: ended ? Infinity : text.length };
    setWords(ended ? [fresh, ending(view)].filter(Boolean).join(" ") : fresh);
  }, [view, running]);

  const asked = view ? openApprovals(view).at(-1) : undefined;
  useEffect(() => {
    if (asked) setWords(`May ${asked.name} run? The answer waits for your word.`);
  }, [asked?.id]);

  return (
    <div className="visually-hidden" role="log" aria-live="polite" aria-label="The answer as it is written" data-testid="announcer">
      {words}
    </div>
  );
}

function complete(view: TurnView): { text: string; ended: boolean } {
  const text = answerText(view);
  const ended = view.finishReason !== null;
  return { text: ended ? text : text.slice(0, text.lastIndexOf("\n\n") + 1), ended };
}

function ending(view: TurnView): string {
  const notice = noticeOf(view);
  const draft = waitingPlan([{ turnId: view.turnId, answer: view }]) ? " A plan waits for your word." : "";
  return notice ? `${notice.title} ${notice.text}` : `The answer is complete.${draft}`;
}
