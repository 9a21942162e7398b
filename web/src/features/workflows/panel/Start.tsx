// Starts a session in a chat: the person's next message there is its goal. A chat has one open session at most.

import { focusComposer } from "../../../components/focus";
import { NEW_CHAT } from "../../../state/drafts";
import { conversation, goTo } from "../../../state/page";
import { useStore } from "../../../state/store";
import { choice, type Chosen } from "../choice";
import { kept, newest } from "../session";
import { canGoOn, isOver, shown, type Shown } from "../session/checklist";
import { words as names } from "../session/en";
import { words } from "./en";

/** The session of the open chat that is not over. */
export function useOpenSession(): { session: Shown | null; isRunning: boolean } {
  const { threadId, session, seq } = useStore(kept);
  const { threadId: open, exchanges, running } = useStore(conversation.store);
  const isKnown = open !== null && threadId === open;
  const drawn = shown(isKnown ? session : null, isKnown ? seq : 0, newest(exchanges));
  return { session: drawn && !isOver(drawn) ? drawn : null, isRunning: running !== null };
}

/** The next message of this chat starts a session. */
export function startIn(chat: string, chosen: Chosen, onClose: () => void): void {
  if (chat === NEW_CHAT && conversation.store.get().threadId !== null) goTo(null);
  choice.choose(chat, chosen);
  onClose();
  // A modal panel keeps the focus until it is closed.
  requestAnimationFrame(focusComposer);
}

export function StartButtons({ chat, chosen, onClose }: { chat: string; chosen: Chosen; onClose: () => void }) {
  const { session } = useOpenSession();
  return (
    <div>
      <div className="workflow-acts">
        {session === null && (
          <button type="button" className="primary-button small" data-testid="workflow-start" onClick={() => startIn(chat, chosen, onClose)}>
            {words.startHere}
          </button>
        )}
        {chat !== NEW_CHAT && (
          <button type="button" className={session === null ? "quiet-button" : "primary-button small"} data-testid="workflow-start-new" onClick={() => startIn(NEW_CHAT, chosen, onClose)}>
            {words.startNew}
          </button>
        )}
      </div>
      <p className="side-note">{words.startHint}</p>
    </div>
  );
}

/** The session of this chat, and the way to go on with it. */
export function Here({ onClose }: { onClose: () => void }) {
  const { session, isRunning } = useOpenSession();
  if (session === null) return null;
  const { name, step, steps } = session;
  return (
    <section className="workflow-here" aria-label={words.here} data-testid="workflow-here">
      <p>
        <span dir="auto">{words.busyHere(name ?? names.nameless)}</span>{" "}
        <span className="row-more">{names.place(step + 1, steps.length)}</span>
      </p>
      {canGoOn(session, isRunning) && (
        <button
          type="button"
          className="primary-button small"
          data-testid="workflow-resume"
          onClick={() => {
            void conversation.send(names.goOnMessage, null, [], false);
            onClose();
            requestAnimationFrame(focusComposer);
          }}
        >
          {words.goOn}
        </button>
      )}
    </section>
  );
}
