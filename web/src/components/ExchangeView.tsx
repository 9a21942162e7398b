// One question and its answer.

import { memo, useMemo } from "react";
import { childrenOf, outlineOf } from "../turn/outline";
import { noticeOf, type Notice } from "../turn/status";
import type { Exchange } from "../turn/stored";
import { answerText, type TurnEntry, type TurnView } from "../turn/view";
import { ApprovalCard } from "./ApprovalCard";
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
          <h2 className="visually-hidden">You</h2>
          {question}
        </div>
      )}
      <div className="answer" data-testid="message-assistant" aria-busy={isRunning(answer)}>
        <h2 className="visually-hidden">Espalier</h2>
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
  const root = childrenOf(outline, null);
  // Between one sign of life and the next there is nothing to draw: show that it goes on.
  const quiet = isRunning(view) && view.approvals.length === 0 && !root.some(isMoving);
  return (
    <>
      <Entries entries={root} outline={outline} />
      {view.approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
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

function isMoving(entry: TurnEntry): boolean {
  return entry.kind === "tool" ? entry.status === "running" : !entry.done;
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
