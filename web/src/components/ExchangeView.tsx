// One question and its answer.

import { memo, useMemo, type ReactNode } from "react";
import { en } from "../en";
import { features } from "../feature";
import type { TurnClock } from "../state/clock";
import { approvalCard, limitCard } from "../state/parts";
import { childrenOf, outlineOf } from "../turn/outline";
import { noticeOf, type Notice } from "../turn/status";
import { isAsked, type Exchange } from "../turn/stored";
import { answerPicker } from "../turn/versions";
import { answerText, callsIn, canContinue, openApprovals, openLimit, type TurnEntry, type TurnView } from "../turn/view";
import { CopyButton } from "./CopyButton";
import { CostSummary } from "./CostSummary";
import { Entries } from "./Entries";
import { Guard } from "./Guard";
import { AgainIcon } from "./Icons";
import { Question } from "./Question";
import { TurnFrameProvider } from "./TurnContext";
import { TurnNotice } from "./TurnNotice";
import { VersionPicker } from "./VersionPicker";
import { WorkBar } from "./WorkBar";

interface Props {
  exchange: Exchange;
  /** Null unless the turn runs. */
  clock: TurnClock | null;
  /** Asks again beside this exchange; null while a turn runs. */
  onAgain: ((exchange: Exchange, question: string) => void) | null;
  /** Goes on from this exchange; null unless it is the last one and no turn runs. */
  onContinue: ((exchange: Exchange) => void) | null;
  /** The person edits this question. */
  editing: boolean;
  setEditing: (turnId: string | null) => void;
  /** Its outcome waits for the reader's next message. */
  waits: boolean;
}

const LOST: Notice = {
  code: "no_answer",
  tone: "warning",
  title: en.answer.noAnswer,
  text: en.answer.noAnswerWhy,
  retryable: true,
};

export const ExchangeView = memo(function ExchangeView(props: Props) {
  const { exchange, clock, onAgain, onContinue, editing, setEditing, waits } = props;
  const { turnId, question, answer } = exchange;
  const notice = answer ? noticeOf(answer) : LOST;
  const again = onAgain && isAsked(exchange) ? (text: string) => onAgain(exchange, text) : null;
  const retry = again && notice?.retryable ? () => again(question) : null;
  const goOn = onContinue && answer && canContinue(answer) ? () => onContinue(exchange) : null;
  const tokens = answer?.cost ? answer.cost.input_tokens + answer.cost.output_tokens : null;
  const frame = useMemo(() => ({ turnId, clock, tokens, waits }), [turnId, clock, tokens, waits]);
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
        <h2 className="visually-hidden">{en.common.product}</h2>
        <Guard plain={answer ? answerText(answer) : ""}>
          <TurnFrameProvider value={frame}>{answer && <Answer view={answer} />}</TurnFrameProvider>
        </Guard>
        {answer && features().map(({ name, Below }) => Below && <Below key={name} view={answer} />)}
        {notice && <TurnNotice notice={notice} onRetry={retry} onContinue={goOn} />}
        <Footer exchange={exchange} onAgain={again && (() => again(question))} />
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
  const ApprovalCard = approvalCard.use(view.approvals.length > 0);
  const LimitCard = limitCard.use(view.limitRequests.length > 0);
  // Between two events there is nothing to draw: the dots show that the turn goes on.
  const asks = openApprovals(view).length > 0 || openLimit(view) !== undefined;
  const quiet = isRunning(view) && !asks && !root.some(isMoving);
  return (
    <>
      {callsIn(view).length > 0 && <WorkBar view={view} />}
      {enclosed(view, <Entries entries={root} outline={outline} />)}
      {ApprovalCard && view.approvals.map((approval) => <ApprovalCard key={approval.id} approval={approval} />)}
      {LimitCard && view.limitRequests.map((request) => <LimitCard key={request.id} request={request} />)}
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

/** The entries of an answer, enclosed by the features. */
function enclosed(view: TurnView, entries: ReactNode): ReactNode {
  return features().reduce((inside, { Around }) => (Around ? <Around view={view}>{inside}</Around> : inside), entries);
}

function Footer({ exchange: { turnId, answer, versions }, onAgain }: { exchange: Exchange; onAgain: (() => void) | null }) {
  const picker = answerPicker(turnId, versions);
  if (isRunning(answer) || (answer === null && picker === null)) return null;
  const text = answer ? answerText(answer) : "";
  return (
    <footer className="answer-footer">
      <VersionPicker picker={picker} type="answer" />
      {text !== "" && <CopyButton text={text} what={en.common.copyAnswer} />}
      {onAgain && (
        <button type="button" className="icon-button small" data-testid="again" title={en.answer.again} onClick={onAgain}>
          <AgainIcon />
          <span className="visually-hidden">{en.answer.again}</span>
        </button>
      )}
      {answer?.cost && <CostSummary cost={answer.cost} />}
    </footer>
  );
}
