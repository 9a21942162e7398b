import { useEffect, useLayoutEffect, useRef, type KeyboardEvent } from "react";
import type { ConversationState } from "../state/conversation";
import { drafts, NEW_CHAT, setDraft } from "../state/drafts";
import { conversation } from "../state/page";
import { useStore } from "../state/store";
import { ArrowUpIcon, StopIcon } from "./Icons";

/** What the service takes in one message. */
const MAX_CHARS = 100_000;

export function Composer({ state }: { state: ConversationState }) {
  const { threadId, phase, running } = state;
  const chat = threadId ?? NEW_CHAT;
  const text = useStore(drafts)[chat] ?? "";
  const box = useRef<HTMLTextAreaElement>(null);
  const usable = phase === "ready";
  const tooLong = text.length > MAX_CHARS;
  const sendable = usable && running === null && text.trim() !== "" && !tooLong;

  useLayoutEffect(() => {
    const field = box.current;
    if (!field) return;
    // Through CSSOM, which a strict style-src allows.
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);

  // A chat that was opened can be written in at once; on a touch screen the keyboard would hide it.
  useEffect(() => {
    if (usable && window.matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [usable, threadId]);

  const send = () => {
    if (!sendable) return;
    void conversation.send(text);
    box.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that picks a word of an input method is not meant for us.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="composer-box">
        <label className="visually-hidden" htmlFor="composer">
          Message
        </label>
        <textarea
          id="composer"
          ref={box}
          data-testid="composer"
          rows={1}
          placeholder="Ask anything"
          enterKeyHint="send"
          value={text}
          disabled={phase === "missing"}
          aria-describedby="composer-hint"
          onChange={(event) => setDraft(chat, event.target.value)}
          onKeyDown={onKeyDown}
        />
        {running ? (
          <button
            type="button"
            className="round-button stop"
            data-testid="stop"
            disabled={running.stopping}
            onClick={() => void conversation.stop()}
            title="Stop"
          >
            <StopIcon />
            <span className="visually-hidden">{running.stopping ? "Stopping" : "Stop"}</span>
          </button>
        ) : (
          <button
            type="submit"
            className="round-button"
            data-testid="send"
            disabled={!sendable}
            title="Send"
          >
            <ArrowUpIcon />
            <span className="visually-hidden">Send</span>
          </button>
        )}
      </div>
      <p id="composer-hint" className="composer-hint" data-warn={tooLong}>
        {tooLong
          ? `This message is too long by ${(text.length - MAX_CHARS).toLocaleString("en")} characters.`
          : "Enter sends, Shift + Enter starts a new line."}
      </p>
    </form>
  );
}
