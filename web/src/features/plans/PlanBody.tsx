// A plan within its card: its reasoning, the reviewer's verdict, and its steps as a checklist. The calls of a step hang
// below it, as in every card.

import { useId, useState } from "react";
import { Clamp } from "../../components/Clamp";
import { focusComposer } from "../../components/focus";
import { Disclosure } from "../../components/Disclosure";
import { Elapsed } from "../../components/Elapsed";
import { Entries } from "../../components/Entries";
import { ChevronIcon } from "../../components/Icons";
import { Markdown } from "../../components/Markdown";
import { argsGist, resultGist } from "../../components/gist";
import { cardId, SubtaskBody } from "../../components/ToolCallCard";
import { useTurnFrame } from "../../components/TurnContext";
import { useOpen } from "../../state/expansion";
import { conversation } from "../../state/page";
import { childrenOf, type Outline } from "../../turn/outline";
import type { ToolEntry, TurnEntry } from "../../turn/view";
import type { Plan, PlanReview } from "../../wire.generated";
import { words } from "./en";
import { aroundSteps, checklistOf, type ChecklistItem, type StepState } from "./plan";
import "./plan.css";

interface Props {
  plan: Plan;
  /** The call that shows it. */
  call: ToolEntry;
  outline: Outline;
}

export function PlanBody({ plan, call, outline }: Props) {
  const { waits: turnWaits } = useTurnFrame();
  const inside = childrenOf(outline, call.id);
  const others = aroundSteps(inside);
  const waits = plan.status === "pending_review";
  return (
    <div className="plan" data-testid="plan" data-plan-id={plan.id} data-status={plan.status}>
      {plan.objective !== "" && <p className="plan-objective" dir="auto">{plan.objective}</p>}
      {plan.reasoning.trim() !== "" &&
        (waits ? (
          <Clamp growing={false}>
            <Markdown text={plan.reasoning} />
          </Clamp>
        ) : (
          <Disclosure label={words.reasoning}>
            <Markdown text={plan.reasoning} />
          </Disclosure>
        ))}
      {others.length > 0 && (
        <Disclosure label={words.made}>
          <Entries entries={others} outline={outline} clamped />
        </Disclosure>
      )}
      {plan.review && <Review review={plan.review} />}
      <ol className="plan-steps" aria-label={words.steps}>
        {checklistOf(plan, inside).map((item) => (
          <Step key={item.number} plan={plan} item={item} outline={outline} />
        ))}
      </ol>
      {plan.status === "executing" && call.status === "running" && (
        <button type="button" className="link-button plan-stop" data-testid="plan-stop" onClick={stop}>
          {words.stop}
        </button>
      )}
      {waits && (turnWaits ? <Ask /> : call.status !== "running" && <p className="plan-note">{words.over}</p>)}
      {plan.status === "dropped" && <p className="plan-note">{words.dropped}</p>}
    </div>
  );
}

function Review({ review: { verdict, notes } }: { review: PlanReview }) {
  return (
    <div className="plan-review" data-testid="plan-review" data-verdict={verdict}>
      <p className="plan-verdict">{words.verdicts[verdict]}</p>
      {notes.trim() !== "" && (
        <Clamp growing={false}>
          <Markdown text={notes} />
        </Clamp>
      )}
    </div>
  );
}

/** A mark says as much as its colour. A screen reader says words in its place. */
const MARKS: Record<StepState, string> = { pending: "[ ]", active: "[>]", done: "[x]", partial: "[~]", error: "[!]", skipped: "[-]" };

function Step({ plan, item, outline }: { plan: Plan; item: ChecklistItem; outline: Outline }) {
  const { step, number, state, call, after } = item;
  const { turnId } = useTurnFrame();
  const [open, setOpen] = useOpen(turnId, call?.id ?? `${plan.id}/${number}`, false);
  const bodyId = useId();
  const card = call && {
    id: cardId(turnId, call.id),
    "data-testid": "tool-card",
    "data-tool-name": call.name,
    "data-tool-call-id": call.id,
    "data-depth": call.depth,
    "data-status": call.status,
  };
  return (
    <li className="plan-step" data-testid="plan-step" data-state={state} aria-current={state === "active" ? "step" : undefined}>
      <div {...card}>
        <button
          type="button"
          className="step-head"
          data-testid={call ? "tool-card-toggle" : "plan-step-toggle"}
          aria-expanded={open}
          aria-controls={open ? bodyId : undefined}
          onClick={() => setOpen(!open)}
        >
          <span className="step-mark" aria-hidden="true">
            {MARKS[state]}
          </span>
          <span className="visually-hidden">{words.states[state]}: </span>
          <span className="step-title">
            {words.step(number, "")}
            <bdi>{step.title}</bdi>
          </span>
          <span className="tool-meta">
            {!call && after.length > 0 && <span>{words.after(after.join(", "))}</span>}
            {call && <Elapsed call={call} />}
            {state === "active" && <span className="spinner" aria-hidden="true" />}
          </span>
          <ChevronIcon />
        </button>
        {!open && call && <Gist call={call} inside={childrenOf(outline, call.id)} />}
        {open && (
          <div id={bodyId} className="tool-body step-body">
            {call ? (
              <SubtaskBody call={call} outline={outline} instructions={step.instructions && <p className="step-instructions" dir="auto">{step.instructions}</p>} />
            ) : (
              <p className="step-instructions" dir="auto">{step.instructions || words.noInstructions}</p>
            )}
          </div>
        )}
      </div>
    </li>
  );
}

/** The card of a running step shows this many of its latest calls. */
const LINES = 5;

function Gist({ call, inside }: { call: ToolEntry; inside: readonly TurnEntry[] }) {
  const calls = inside.filter((entry) => entry.kind === "tool");
  if (call.status !== "running") {
    const result = resultGist(call);
    return result === "" ? null : (
      <p className="step-result" data-testid="step-result" dir="auto">
        {result}
      </p>
    );
  }
  if (calls.length === 0) return null;
  const earlier = calls.length - LINES;
  return (
    <ul className="step-activity" aria-label={words.latest}>
      {earlier > 0 && <li>{words.earlier(earlier)}</li>}
      {calls.slice(-LINES).map((each) => (
        <li key={each.id} data-testid="step-activity" data-status={each.status}>
          <span aria-hidden="true">&gt; </span>
          {words.call(each.name, each.title ?? argsGist(each))}
          {each.status === "error" && words.failed}
        </li>
      ))}
    </ul>
  );
}

function stop(): void {
  void conversation.stop();
  focusComposer();
}

/** The reader decides by their next message, which these buttons send. */
function Ask() {
  const [changing, setChanging] = useState(false);
  const say = (message: string) => {
    // The composer keeps the reader's text.
    void conversation.send(message, null, [], false);
    focusComposer();
  };
  return (
    <div className="plan-ask" data-testid="plan-ask">
      <p>{words.ask}</p>
      <div className="plan-acts">
        <button type="button" className="primary-button small" data-testid="plan-run" onClick={() => say(words.runMessage)}>
          {words.run}
        </button>
        <button type="button" className="quiet-button" data-testid="plan-change" aria-expanded={changing} onClick={() => setChanging(!changing)}>
          {words.change}
        </button>
        <button type="button" className="quiet-button" data-testid="plan-discard" onClick={() => say(words.discardMessage)}>
          {words.discard}
        </button>
      </div>
      {changing && <Change onSend={(change) => say(words.changeMessage(change))} onCancel={() => setChanging(false)} />}
    </div>
  );
}

function Change({ onSend, onCancel }: { onSend: (change: string) => void; onCancel: () => void }) {
  const [change, setChange] = useState("");
  const send = () => change.trim() !== "" && onSend(change.trim());
  return (
    <form
      className="plan-changing"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        rows={2}
        dir="auto"
        autoFocus
        data-testid="plan-change-text"
        aria-label={words.changeLabel}
        placeholder={words.changeLabel}
        value={change}
        onChange={(event) => setChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") {
            event.preventDefault();
            onCancel();
          }
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          send();
        }}
      />
      <button type="submit" className="primary-button small" data-testid="plan-change-send" disabled={change.trim() === ""}>
        {words.changeSend}
      </button>
    </form>
  );
}
