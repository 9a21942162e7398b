// One question and its answer.

import { memo, useMemo } from "react";
import { childrenOf, outlineOf } from "../turn/outline";
import { noticeOf, type Notice } from "../turn/status";
import type { Exchange } from "../turn/stored";
import { answerText, type TurnView } from "../turn/view";
import { CopyButton } from "./CopyButton";
import { CostSummary } from "./CostSummary";
import { Entries } from "./Entries";
import { TurnNotice } from "./TurnNotice";

interface Props {
  exchange: Exchange;
  /** Asks the same question again; null where that makes no sense (not the last one, busy). */
  onAgain: ((question: string) => void) | null;
}

const LOST: Notice = {
  code: "no_answer",
  tone: "warning",
  title: "There is no answer to this message.",
  text: "The service has stored none.",
  retryable: true,
};

export const ExchangeView = memo(function ExchangeView({ exchange, onAgain }: Props) {
  const { question, answer } = exchange;
  const notice = answer ? noticeOf(answer) : LOST;
  const again = onAgain && notice?.retryable ? () => onAgain(question) : null;
  return (
    <section className="exchange">
      {question !== "" && (
        <div className="question" data-testid="message-user">
          <h3 className="visually-hidden">You</h3>
          {question}
        </div>
      )}
      <div className="answer" data-testid="message-assistant" aria-busy={isRunning(answer)}>
        <h3 className="visually-hidden">Espalier</h3>
        {answer && <Answer view={answer} />}
        {notice && <TurnNotice notice={notice} onRetry={again} />}
        {answer && <Footer view={answer} />}
      </div>
    </section>
  );
});

function isRunning(view: TurnView | null): boolean {
  return view !== null && view.finishReason === null;
}

function Answer({ view }: { view: TurnView }) {
  const outline = useMemo(() => outlineOf(view.entries), [view.entries]);
  const last = view.entries.at(-1);
  // Between a sign of life and the next there is nothing to draw: show that it goes on.
  const quiet = isRunning(view) && (!last || last.kind === "tool" || last.done);
  return (
    <>
      <Entries entries={childrenOf(outline, null)} outline={outline} />
      {quiet && (
        <div className="pending" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
    </>
  );
}

function Footer({ view }: { view: TurnView }) {
  if (isRunning(view)) return null;
  const text = answerText(view);
  return (
    <footer className="answer-footer">
      {text !== "" && <CopyButton text={text} />}
      {view.cost && <CostSummary cost={view.cost} />}
    </footer>
  );
}
