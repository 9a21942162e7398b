// One tool call; for a subtask, with everything that happened inside it. Recursive through Entries.
//
// What starts open: a subtask at the root, so that one sees what it is made of. All that is nested
// deeper, and every plain call, starts folded behind its header.

import { memo, useId } from "react";
import { useOpen } from "../state/expansion";
import { planBody } from "../state/parts";
import { childrenOf, type Outline } from "../turn/outline";
import { checklistOf, ended } from "../turn/plan";
import { citationsOf } from "../turn/citations";
import { compact, shareText } from "../turn/status";
import { isSubtask, type ToolEntry, type ToolStatus, type TurnEntry } from "../turn/view";
import type { Plan } from "../wire";
import { Citations } from "./Citations";
import { Clamp } from "./Clamp";
import { Disclosure } from "./Disclosure";
import { Elapsed } from "./Elapsed";
import { Entries } from "./Entries";
import { CheckIcon, ChevronIcon, CloseIcon } from "./Icons";
import { Markdown } from "./Markdown";
import { argsGist, resultGist, ToolArgs } from "./ToolArgs";
import { usePlan, useTurnFrame } from "./TurnContext";

const STATUS_WORDS: Record<ToolStatus, string> = {
  running: "running",
  done: "done",
  error: "failed",
};

/** How a card is found on the page. */
export function cardId(turnId: string, callId: string): string {
  return `card-${turnId}-${callId}`;
}

interface Props {
  call: ToolEntry;
  outline: Outline;
}

export const ToolCallCard = memo(function ToolCallCard({ call, outline }: Props) {
  const inside = childrenOf(outline, call.id);
  const plan = usePlan(call.id);
  const PlanBody = planBody.use(plan !== null);
  // Whatever else comes to have calls inside shows them as a subtask does.
  const subtask = isSubtask(call) || inside.length > 0 || plan !== null;
  const { turnId } = useTurnFrame();
  const [open, setOpen] = useOpen(turnId, call.id, subtask && call.depth === 0);
  const bodyId = useId();
  const title = plan ? "Plan" : call.title;
  const gist = plan ? (plan.intent_label ?? (open ? "" : plan.objective)) : argsGist(call);
  const result = open || plan ? "" : resultGist(call);
  return (
    <article
      className="tool-card"
      id={cardId(turnId, call.id)}
      data-testid="tool-card"
      data-tool-name={call.name}
      data-tool-call-id={call.id}
      data-depth={call.depth}
      data-status={call.status}
    >
      <button
        type="button"
        className="tool-head"
        data-testid="tool-card-toggle"
        aria-expanded={open}
        aria-controls={open ? bodyId : undefined}
        onClick={() => setOpen(!open)}
      >
        <StatusMark status={call.status} />
        <span className="tool-name" data-code={plan ? undefined : title === null}>
          {title ?? call.name}
        </span>
        {(gist || result) && (
          <span className="tool-gist">
            {gist}
            {result && (
              <>
                <span className="tool-arrow"> → </span>
                <span className="tool-gist-result">{result}</span>
              </>
            )}
          </span>
        )}
        <span className="tool-meta">
          {plan ? <Progress plan={plan} inside={inside} /> : subtask && <Inside entries={inside} named={isSubtask(call)} />}
          {call.usage && call.usage.input_tokens + call.usage.output_tokens > 0 && (
            <span className="tool-tokens">{compact(call.usage.input_tokens + call.usage.output_tokens)} tokens</span>
          )}
          <Elapsed call={call} />
        </span>
        <ChevronIcon />
      </button>
      {open && (
        <div id={bodyId} className="tool-body">
          {plan && PlanBody ? (
            <PlanBody plan={plan} call={call} outline={outline} />
          ) : subtask ? (
            <SubtaskBody call={call} outline={outline} />
          ) : (
            <>
              <p className="tool-label">Arguments</p>
              <ToolArgs call={call} />
              <Result call={call} />
            </>
          )}
        </div>
      )}
    </article>
  );
});

function StatusMark({ status }: { status: ToolStatus }) {
  return (
    <span className="tool-status">
      {status === "running" && <span className="spinner" aria-hidden="true" />}
      {status === "done" && <CheckIcon />}
      {status === "error" && <CloseIcon />}
      <span className="visually-hidden">{STATUS_WORDS[status]}: </span>
    </span>
  );
}

function Inside({ entries, named }: { entries: readonly TurnEntry[]; named: boolean }) {
  const count = entries.filter((entry) => entry.kind === "tool").length;
  const words = [named && "subtask", count > 0 && `${count} ${count === 1 ? "call" : "calls"}`].filter(Boolean);
  return <span className="tool-inside">{words.join(", ")}</span>;
}

function Progress({ plan, inside }: { plan: Plan; inside: readonly TurnEntry[] }) {
  const items = checklistOf(plan, inside);
  return (
    <span data-testid="plan-progress">
      {items.filter(ended).length} of {items.length} done
    </span>
  );
}

export function SubtaskBody({ call, outline, instructions }: Props & { instructions?: string }) {
  const { tokens } = useTurnFrame();
  const inside = childrenOf(outline, call.id);
  const last = inside.findLast((entry) => entry.kind === "text");
  // A subtask's result is its last text: once is enough. A failure's words are always shown.
  const repeated =
    call.status === "done" && last?.kind === "text" && last.content.trim() === call.result?.trim();
  return (
    <>
      <Disclosure label="Instructions">
        {instructions ? <p className="step-instructions">{instructions}</p> : <ToolArgs call={call} />}
      </Disclosure>
      <Entries entries={inside} outline={outline} clamped />
      {!repeated && (isProse(call) ? <WrittenResult text={call.result ?? ""} /> : <Result call={call} />)}
      {call.usage && (
        <p className="tool-share" data-testid="share">
          {shareText(call.usage, tokens)}
        </p>
      )}
    </>
  );
}

/** A subtask answers in words, unless it was asked for a structure or failed. */
function isProse(call: ToolEntry): boolean {
  return call.status === "done" && !/^\s*([[{]|$)/.test(call.result ?? "");
}

function WrittenResult({ text }: { text: string }) {
  return (
    <Clamp growing={false}>
      <Markdown text={text} />
    </Clamp>
  );
}

/** Results can be long (the wire allows 50 000 bytes); a reader wants the first page of it. */
const RESULT_CHARS = 4000;

function Result({ call }: { call: ToolEntry }) {
  if (call.status === "running") return null;
  const result = call.result ?? "";
  const cut = result.length > RESULT_CHARS;
  const found = citationsOf(call);
  if (found.length > 0) {
    return (
      <>
        <p className="tool-label">Found</p>
        <Citations found={found} />
      </>
    );
  }
  return (
    <>
      <p className="tool-label">{call.status === "error" ? "Error" : "Result"}</p>
      {result === "" ? (
        <p className="tool-none">{call.status === "error" ? "It did not finish." : "empty"}</p>
      ) : (
        <pre className="tool-result" tabIndex={0}>
          {cut ? `${result.slice(0, RESULT_CHARS)}…` : result}
        </pre>
      )}
    </>
  );
}
