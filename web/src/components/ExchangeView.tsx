// One question and its answer.

import { memo, useMemo } from "react";
import type { TurnClock } from "../state/conversation";
import { childrenOf, outlineOf } from "../turn/outline";
import { sourcesOf } from "../turn/citations";
import { planCalls } from "../turn/plan";
import { noticeOf, type Notice } from "../turn/status";
import { isAsked, type Exchange } from "../turn/stored";
import { answerText, callsIn, openApprovals, type TurnEntry, type TurnView } from "../turn/view";
import { ApprovalCard } from "./ApprovalCard";
import { CopyButton } from "./CopyButton";
import { CostSummary } from "./CostSummary";
import { Entries } from "./Entries";
import { Guard } from "./Guard";
import { AgainIcon, ShelfIcon } from "./Icons";
import { Question } from "./Question";
import { PlansProvider, TurnFrameProvider } from "./TurnContext";
import { TurnNotice } from "./TurnNotice";
import { WorkBar } from "./WorkBar";

interface Props {
  exchange: Exchange;
  /** Null when the turn does not run. */
  clock: TurnClock | null;
  /** Asks again in place of this exchange; null where that makes no sense (not the last one, busy). */
  onAgain: ((exchange: Exchange, question: string) => void) | null;
  /** Somebody asked from elsewhere to edit this question. */
  editing: boolean;
  setEditing: (turnId: string | null) => void;
  /** The plan that it left waits for the reader's word. */
  draftWaits: boolean;
}

const LOST: Notice = {
  code: "no_answer",
  tone: "warning",
  title: "There is no answer to this message.",
  text: "The service has stored none.",
  retryable: true,
};

export const ExchangeView = memo(function ExchangeView({ exchange, clock, onAgain, editing, setEditing, draftWaits }: Props) {
  const { turnId, question, answer } = exchange;
  const notice = answer ? noticeOf(answer) : LOST;
  const again = onAgain && isAsked(exchange) ? (text: string) => onAgain(exchange, text) : null;
  const retry = again && notice?.retryable ? () => again(question) : null;
  const tokens = answer?.cost ? answer.cost.input_tokens + answer.cost.output_tokens : null;
  const frame = useMemo(() => ({ turnId, clock, tokens, draftWaits }), [turnId, clock, tokens, draftWaits]);
  return (
    <section className="exchange" data-turn-id={turnId}>
      {isAsked(exchange) && (
        <Question
          exchange={exchange}
          onEdit={again}
          editing={editing}
          setEditing={(open) => setEditing(open ? turnId : null)}
        />
      )}
      <div className="answer" data-testid="message-assistant" aria-busy={isRunning(answer)}>
        <h2 className="visually-hidden">Espalier</h2>
        <Guard plain={answer ? answerText(answer) : ""}>
          <TurnFrameProvider value={frame}>{answer && <Answer view={answer} />}</TurnFrameProvider>
        </Guard>
        {answer && <Sources view={answer} />}
        {notice && <TurnNotice notice={notice} onRetry={retry} />}
        {answer && <Footer view={answer} onAgain={again && (() => again(question))} />}
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
  const plans = useMemo(() => planCalls(view), [view.entries, view.plans]);
  // Between one sign of life and the next there is nothing to draw: show that it goes on.
  const quiet = isRunning(view) && openApprovals(view).length === 0 && !root.some(isMoving);
  return (
    <>
      {callsIn(view).length > 0 && <WorkBar view={view} />}
      <PlansProvider value={plans}>
        <Entries entries={root} outline={outline} />
      </PlansProvider>
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

/** Where the answer may come from; the passages are in the cards. */
function Sources({ view }: { view: TurnView }) {
  const sources = isRunning(view) ? [] : sourcesOf(view);
  if (sources.length === 0) return null;
  return (
    <p className="sources" data-testid="sources">
      <ShelfIcon />
      <span>
        Found in{" "}
        {sources.map((source, index) => (
          <span key={source}>
            {index > 0 && ", "}
            <cite>{source}</cite>
          </span>
        ))}
      </span>
    </p>
  );
}

function Footer({ view, onAgain }: { view: TurnView; onAgain: (() => void) | null }) {
  if (isRunning(view)) return null;
  const text = answerText(view);
  return (
    <footer className="answer-footer">
      {text !== "" && <CopyButton text={text} what="the answer" />}
      {onAgain && (
        <button type="button" className="icon-button small" data-testid="again" title="Answer again" onClick={onAgain}>
          <AgainIcon />
          <span className="visually-hidden">Answer again</span>
        </button>
      )}
      {view.cost && <CostSummary cost={view.cost} />}
    </footer>
  );
}
