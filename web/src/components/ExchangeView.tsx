// One question and its answer.

import { memo, useMemo } from "react";
import { en } from "../en";
import { features } from "../feature";
import type { TurnClock } from "../state/clock";
import { answerView } from "../state/parts";
import { noticeOf, type Notice } from "../turn/status";
import { isAsked, type Exchange } from "../turn/stored";
import { answerPicker } from "../turn/versions";
import { answerText, canContinue, type TurnView } from "../turn/view";
import { CopyButton } from "./CopyButton";
import { CostSummary } from "./CostSummary";
import { Guard } from "./Guard";
import { AgainIcon } from "./Icons";
import { Question } from "./Question";
import { TurnFrameProvider } from "./TurnContext";
import { TurnNotice } from "./TurnNotice";
import { VersionPicker } from "./VersionPicker";

interface Props {
  exchange: Exchange;
  /** Null unless the turn runs. */
  clock: TurnClock | null;
  /** Asks again beside this exchange; null where that cannot be. */
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
  const again = onAgain && ((text: string) => onAgain(exchange, text));
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
          <TurnFrameProvider value={frame}>{answer && <Shown view={answer} />}</TurnFrameProvider>
        </Guard>
        {answer && features().map(({ name, Below }) => Below && <Below key={name} view={answer} />)}
        {notice && <TurnNotice notice={notice} onRetry={retry} onContinue={goOn} />}
        <Footer exchange={exchange} onAgain={again && (() => again(question))} />
      </div>
    </section>
  );
});

/** Plain text until the code that draws answers has come. */
function Shown({ view }: { view: TurnView }) {
  const Answer = answerView.use();
  return Answer ? <Answer view={view} /> : <p className="plain" dir="auto">{answerText(view)}</p>;
}

function isRunning(view: TurnView | null): boolean {
  return view !== null && view.finishReason === null;
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
      {answer && features().map(({ name, Action }) => Action && <Action key={name} view={answer} />)}
      {answer?.cost && <CostSummary cost={answer.cost} />}
    </footer>
  );
}
