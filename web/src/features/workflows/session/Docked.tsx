// The session of the open chat above the composer: a line that says where it stands, and its steps as a checklist.

import { useEffect, useId, useRef } from "react";
import { Confirm } from "../../../components/Confirm";
import { focusComposer } from "../../../components/focus";
import { ChevronIcon, CloseIcon } from "../../../components/Icons";
import { Markdown } from "../../../components/Markdown";
import { Problem } from "../../../components/PagedList";
import { useOpen } from "../../../state/expansion";
import type { ConversationState } from "../../../state/onScreen";
import { conversation } from "../../../state/page";
import { useStore } from "../../../state/store";
import type { StepNotes } from "../../../wire.generated";
import type { News } from "../knowledge";
import { kept } from "../session";
import { canGoOn, isOver, shown, SHOWN_CHARS, type Shown, type ShownStep, type StepState } from "./checklist";
import { words } from "./en";
import { hidden, sessions } from "./sessions";
import "./session.css";

interface Props {
  state: ConversationState;
  news: News | null;
}

/** The session of a chat, and whether the person has hidden it. */
function useSession({ threadId, running, exchanges }: ConversationState, news: News | null): Shown | null {
  const { threadId: known, session, seq } = useStore(kept);
  const { byChat } = useStore(hidden.store);
  const isKnown = known === threadId;
  const isBehind = news !== null && !(isKnown && seq >= news.seq);
  const turn = running?.turnId ?? exchanges.at(-1)?.turnId;
  useEffect(() => {
    if (isBehind && threadId !== null) void sessions.renew(threadId);
  }, [isBehind, news?.seq, threadId, turn, running === null]);
  const drawn = shown(isKnown ? session : null, isKnown ? seq : 0, news);
  const isHidden = drawn !== null && isOver(drawn) && byChat[threadId ?? ""] === drawn.id;
  return isHidden ? null : drawn;
}

/** A window in which the open checklist leaves room for the chat. Elsewhere it starts folded. */
const ROOMY = "(min-width: 52rem) and (min-height: 46rem)";

export function Docked({ state, news }: Props) {
  const session = useSession(state, news);
  return session && <Session session={session} threadId={state.threadId ?? ""} isRunning={state.running !== null} />;
}

function Session({ session, threadId, isRunning }: SessionProps) {
  const { name, status, step, steps } = session;
  const isLate = isOver(session);
  const [open, setOpen] = useOpen(SESSION, session.id, !isLate && window.matchMedia(ROOMY).matches);
  const refused = useStore(sessions.desk);
  const bodyId = useId();
  const body = useRef<HTMLDivElement>(null);
  // The step at which the session stands is in sight, also in a long list.
  useEffect(() => {
    const here = body.current?.querySelector<HTMLElement>("[aria-current]");
    if (here && body.current) body.current.scrollTop = here.offsetTop - body.current.clientHeight / 2;
  }, [open, step, steps.length]);
  return (
    <section className="workflow" aria-label={words.label} data-testid="workflow-session" data-status={status}>
      <div className="workflow-head">
        <button type="button" className="workflow-toggle" data-testid="workflow-toggle" aria-expanded={open} aria-controls={open ? bodyId : undefined} onClick={() => setOpen(!open)}>
          <ChevronIcon />
          <bdi className="workflow-name">{name ?? words.nameless}</bdi>
          <span className="workflow-place">{status === "complete" ? words.done(steps.length) : words.place(Math.min(step + 1, steps.length), steps.length)}</span>
        </button>
        {status === "running" && isRunning && <span className="spinner" aria-hidden="true" />}
        {isLate && (
          <button
            type="button"
            className="icon-button small"
            data-testid="workflow-hide"
            title={words.hide}
            onClick={() => {
              hidden.choose(threadId, session.id);
              focusComposer();
            }}
          >
            <CloseIcon />
            <span className="visually-hidden">{words.hide}</span>
          </button>
        )}
      </div>
      <Problem words={refused.threadId === threadId ? refused.problem : null} />
      <Foot session={session} threadId={threadId} isRunning={isRunning} />
      {open && (
        <div id={bodyId} ref={body} className="workflow-body" tabIndex={0}>
          {session.goal !== "" && (
            <p className="workflow-goal">
              {words.goal}
              <bdi>{session.goal}</bdi>
            </p>
          )}
          <ol className="workflow-steps" aria-label={words.steps}>
            {steps.map((each) => (
              <Step key={each.number} session={session.id} step={each} />
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}

interface SessionProps {
  session: Shown;
  threadId: string;
  isRunning: boolean;
}

/** The state in words, and the acts that it allows. */
function Foot({ session, threadId, isRunning }: SessionProps) {
  return (
    <div className="workflow-foot">
      <p className="workflow-words" role="status" data-testid="workflow-words">
        {sentences(session, isRunning)}
      </p>
      {canGoOn(session, isRunning) && (
        <button type="button" className="primary-button small" data-testid="workflow-continue" onClick={goOn}>
          {words.goOn}
        </button>
      )}
      {!isOver(session) && !isRunning && (
        <Confirm label={words.endLabel} question={words.endQuestion} yes={words.end} className="quiet-button" testId="workflow-end" act={() => sessions.end(threadId)}>
          <span aria-hidden="true">{words.end}</span>
        </Confirm>
      )}
    </div>
  );
}

/** The cards of a session are open or folded under this name, beside those of turns. */
const SESSION = "workflow";

function goOn(): void {
  // The composer keeps the reader's text.
  void conversation.send(words.goOnMessage, null, [], false);
  focusComposer();
}

/** The reason and the state, in plain words. */
function sentences({ status, reason, byClient }: Shown, isRunning: boolean): string {
  const why = words.reasons[reason ?? ""];
  // A turn that waits for the reader's decision has not ended.
  const state = status === "needs_human_review" && !isRunning ? "waiting" : status;
  const next = byClient && (state === "waiting" || state === "stuck") ? words.byClient : words.states[state];
  return why ? `${why} ${next}`.trim() : `${words.alone[state]} ${next}`.trim();
}

/** A mark says as much as its colour. A screen reader says words in its place. */
const MARKS: Record<StepState, string> = { ahead: "[ ]", current: "[>]", done: "[x]", waiting: "[=]", review: "[?]", stuck: "[~]", failed: "[!]" };

function Step({ session, step: { number, title, state, notes } }: { session: string; step: ShownStep }) {
  const [open, setOpen] = useOpen(SESSION, `${session}/${number}`, false);
  const bodyId = useId();
  const isHere = state !== "ahead" && state !== "done";
  const line = (
    <>
      <span className="step-mark" aria-hidden="true">
        {MARKS[state]}
      </span>
      <span className="visually-hidden">{words.marks[state]}: </span>
      <span className="step-title">
        {title === null ? (
          words.unnamed(number)
        ) : (
          <>
            {words.step(number)}
            <bdi>{title}</bdi>
          </>
        )}
      </span>
      {isHere && state !== "current" && (
        <span className="workflow-state" aria-hidden="true">
          {words.marks[state]}
        </span>
      )}
    </>
  );
  return (
    <li className="workflow-step" data-testid="workflow-step" data-state={state} aria-current={isHere ? "step" : undefined}>
      {notes ? (
        <>
          <button type="button" className="step-head" data-testid="workflow-step-toggle" aria-expanded={open} aria-controls={open ? bodyId : undefined} onClick={() => setOpen(!open)}>
            {line}
            <ChevronIcon />
          </button>
          {open && (
            <div id={bodyId} className="workflow-notes" role="group" aria-label={words.notes(title ?? words.unnamed(number))} data-testid="workflow-notes">
              <Notes notes={notes} />
            </div>
          )}
        </>
      ) : (
        <p className="step-head">{line}</p>
      )}
    </li>
  );
}

function Notes({ notes: { notes, artifacts = [] } }: { notes: StepNotes }) {
  return (
    <>
      {notes.trim() === "" ? <p className="tool-none">{words.noNotes}</p> : <Markdown text={notes} />}
      {[...notes].length >= SHOWN_CHARS && <p className="tool-none">{words.cut(SHOWN_CHARS)}</p>}
      <Artifacts artifacts={artifacts} />
    </>
  );
}

/** Files and addresses are text: the page opens none of them. */
export function Artifacts({ artifacts }: { artifacts: readonly string[] }) {
  if (artifacts.length === 0) return null;
  return (
    <>
      <p className="tool-label">{words.cards.artifacts}</p>
      <ul className="workflow-artifacts">
        {artifacts.map((artifact, index) => (
          <li key={index} dir="auto">
            {artifact}
          </li>
        ))}
      </ul>
    </>
  );
}
