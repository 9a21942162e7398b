// Says, while a call waits for the reader, what the words in the composer do then: they deny the call, and tell the model why.

import { conversation } from "../state/page";
import { turnWords } from "../turn/en";
import type { Approval } from "../turn/view";
import { focusComposer } from "./focus";
import { Named } from "./Named";
import "./asked.css";

interface Props {
  asked: Approval;
  /** Sends the message after the answer in place of it; null while there is none. */
  onQueue: (() => void) | null;
  /** The message is longer than a reason may be. */
  tooLong: boolean;
}

const { reply } = turnWords.approval;

export function AskedBar({ asked: { id, name }, onQueue, tooLong }: Props) {
  const allow = async () => {
    await conversation.decide(id, "approve");
    focusComposer();
  };
  return (
    <div className="asked-bar" data-testid="asked-bar" role="note">
      <p>
        <Named name={name}>{tooLong ? reply.tooLong(name) : reply.denies(name)}</Named>
      </p>
      <button type="button" className="quiet-button" data-testid="asked-allow" onClick={() => void allow()}>
        {turnWords.approval.choices.approve}
      </button>
      <button type="button" className="quiet-button" data-testid="asked-queue" disabled={onQueue === null} onClick={() => onQueue?.()}>
        {reply.queue}
      </button>
    </div>
  );
}
