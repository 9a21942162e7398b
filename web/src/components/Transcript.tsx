import { useEffect, type RefObject } from "react";
import { en } from "../en";
import type { ConversationState } from "../state/conversation";
import { finding } from "../state/finding";
import { findBar, longList } from "../state/parts";
import { conversation } from "../state/page";
import { useStore } from "../state/store";
import type { Exchange } from "../turn/stored";
import { mayAskAgain, waitingIn } from "../turn/waiting";
import { EmptyState } from "./EmptyState";
import { ExchangeView } from "./ExchangeView";
import { focusComposer } from "./focus";
import { ArrowDownIcon } from "./Icons";
import { usePrinting } from "./usePrinting";
import { useStickToBottom } from "./useStickToBottom";
import { ChooseVersion } from "./VersionPicker";

interface Props {
  state: ConversationState;
  demo: boolean;
  editing: string | null;
  setEditing: (turnId: string | null) => void;
}

/** Shorter chats are drawn whole, so that the browser's own search finds everything. */
const LONG = 60;
/** A growing chat is drawn whole up to this length, until the code for long ones has come. */
const TOO_LONG = 120;

function again(exchange: Exchange, question: string): void {
  void conversation.send(question, exchange);
  focusComposer();
}

function goOn(exchange: Exchange): void {
  void conversation.goOn(exchange);
  focusComposer();
}

const choose = (turnId: string) => conversation.choose(turnId);

export function Transcript({ state, demo, editing, setEditing }: Props) {
  const { threadId, phase, exchanges, running } = state;
  const { scroller, content, away, toBottom } = useStickToBottom(
    `${threadId} ${phase}`,
    exchanges.length > 0,
  );
  // A message that was just sent is always shown.
  const runningTurn = running?.turnId;
  useEffect(() => {
    if (runningTurn) toBottom();
  }, [runningTurn, toBottom]);

  const lastTurn = exchanges.at(-1)?.turnId;
  const waiting = running === null ? waitingIn(exchanges)?.turnId : null;
  const LongList = longList.use(exchanges.length > LONG / 2);
  // Paper has room for all of it.
  const whole = usePrinting() || exchanges.length < (LongList ? LONG : TOO_LONG);
  const draw = (exchange: Exchange) => (
    <ExchangeView
      key={exchange.turnId}
      exchange={exchange}
      clock={running?.turnId === exchange.turnId ? running.clock : null}
      onAgain={mayAskAgain(exchange, state) ? again : null}
      onContinue={running === null && exchange.turnId === lastTurn ? goOn : null}
      editing={editing === exchange.turnId}
      setEditing={setEditing}
      waits={exchange.turnId === waiting}
    />
  );

  const isFinding = useStore(finding).words !== null;
  const FindBar = findBar.use(isFinding);
  return (
    <div className="transcript-frame">
      {isFinding && FindBar && <FindBar key={threadId} exchanges={exchanges} />}
      <div className="transcript" ref={scroller} tabIndex={-1}>
        <div className="transcript-content" ref={content}>
          {(phase === "loading" || !(whole || LongList)) && <Loading />}
          {phase === "ready" && exchanges.length === 0 && <EmptyState demo={demo} />}
          <ChooseVersion value={running === null ? choose : null}>
            {whole && exchanges.map(draw)}
            {!whole && LongList && (
              <LongList exchanges={exchanges} scroller={scroller as RefObject<HTMLDivElement>} draw={draw} />
            )}
          </ChooseVersion>
        </div>
      </div>
      {away && exchanges.length > 0 && (
        <button type="button" className="to-bottom" onClick={toBottom} title={en.answer.toEnd}>
          <ArrowDownIcon />
          <span className="visually-hidden">{en.answer.toEnd}</span>
        </button>
      )}
    </div>
  );
}

function Loading() {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{en.answer.loading}</span>
      <div className="loading-line short" />
      <div className="loading-line" />
      <div className="loading-line" />
    </div>
  );
}
