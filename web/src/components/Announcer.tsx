// Announces the running answer to screen readers: each paragraph when it is complete, then the end. The pieces of the
// stream alone would be noise.

import { useEffect, useRef, useState } from "react";
import { en } from "../en";
import { useQuestion } from "../feature";
import type { ConversationState } from "../state/conversation";
import { limitText, noticeOf } from "../turn/status";
import { answerText, openApprovals, openLimit, type TurnView } from "../turn/view";
import { waitingIn } from "../turn/waiting";

export function Announcer({ exchanges, running }: ConversationState) {
  const view = exchanges.at(-1)?.answer ?? null;
  const [words, setWords] = useState("");
  const read = useRef({ turnId: "", chars: 0 });

  useEffect(() => {
    if (!view) return;
    const place = read.current;
    // A turn that was over before it came on screen is no news.
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
  const own = useQuestion(asked)?.ask;
  useEffect(() => {
    if (asked) setWords(own ?? (asked.form ? en.asked.form(asked.form.server) : en.asked.call(asked.name)));
  }, [asked?.id, own]);

  const limit = view ? openLimit(view) : undefined;
  useEffect(() => {
    if (limit) setWords(en.asked.limit(limitText(limit.reason, limit.limit)));
  }, [limit?.id]);

  return (
    <div className="visually-hidden" role="log" aria-live="polite" aria-label={en.answer.live} data-testid="announcer">
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
  if (notice) return `${notice.title} ${notice.text}`;
  const waiting = waitingIn([{ turnId: view.turnId, answer: view }])?.announcement;
  return waiting ? `${en.answer.complete} ${waiting}` : en.answer.complete;
}
