import { useCallback, useEffect } from "react";
import type { ConversationState } from "../state/conversation";
import { conversation } from "../state/page";
import { EmptyState } from "./EmptyState";
import { ExchangeView } from "./ExchangeView";
import { ArrowDownIcon } from "./Icons";
import { useStickToBottom } from "./useStickToBottom";

interface Props {
  state: ConversationState;
  demo: boolean;
}

export function Transcript({ state, demo }: Props) {
  const { threadId, phase, exchanges, running } = state;
  const { scroller, content, away, toBottom } = useStickToBottom(
    `${threadId} ${phase}`,
    exchanges.length > 0,
  );
  const again = useCallback((question: string) => void conversation.send(question), []);

  // What one has just sent is always shown, wherever one was reading.
  const lastTurn = exchanges.at(-1)?.turnId;
  useEffect(() => {
    if (lastTurn) toBottom();
  }, [lastTurn, toBottom]);

  return (
    <div className="transcript-frame">
      <div className="transcript" ref={scroller}>
        <div className="transcript-content" ref={content}>
          {phase === "loading" && <Loading />}
          {phase === "ready" && exchanges.length === 0 && <EmptyState demo={demo} />}
          {exchanges.map((exchange, index) => (
            <ExchangeView
              key={exchange.turnId}
              exchange={exchange}
              onAgain={running === null && index === exchanges.length - 1 ? again : null}
            />
          ))}
        </div>
      </div>
      {away && exchanges.length > 0 && (
        <button type="button" className="to-bottom" onClick={toBottom}>
          <ArrowDownIcon />
          <span className="visually-hidden">Go to the end</span>
        </button>
      )}
    </div>
  );
}

function Loading() {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading the chat…</span>
      <div className="loading-line short" />
      <div className="loading-line" />
      <div className="loading-line" />
    </div>
  );
}
