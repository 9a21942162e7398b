// The card of a tool call. The card of a subtask contains the cards of its calls, through Entries.
//
// A subtask at the root starts open, so that the reader sees its calls. Deeper subtasks and plain calls start folded.

import { memo, useId, type ReactNode } from "react";
import { features, type Card } from "../feature";
import { useOpen } from "../state/expansion";
import { callDetails } from "../state/parts";
import { turnWords } from "../turn/en";
import { childrenOf, type Outline } from "../turn/outline";
import { compact, shareText } from "../turn/status";
import { isDenied, isSubtask, type ToolEntry, type ToolStatus, type TurnEntry } from "../turn/view";
import { Clamp } from "./Clamp";
import { Disclosure } from "./Disclosure";
import { Elapsed } from "./Elapsed";
import { Entries } from "./Entries";
import { CheckIcon, ChevronIcon, CloseIcon, PauseIcon } from "./Icons";
import { Markdown } from "./Markdown";
import { argsGist, resultGist } from "./gist";
import { useTurnFrame } from "./TurnContext";

/** The id of a card in the document. */
export function cardId(turnId: string, callId: string): string {
  return `card-${turnId}-${callId}`;
}

interface Props {
  call: ToolEntry;
  outline: Outline;
}

export const ToolCallCard = memo(function ToolCallCard({ call, outline }: Props) {
  const inside = childrenOf(outline, call.id);
  const card = useFeaturesCard(call, outline);
  // Other tools may contain calls too. Their cards show them as a subtask does.
  const subtask = isSubtask(call) || inside.length > 0 || card !== null;
  const { turnId } = useTurnFrame();
  const [open, setOpen] = useOpen(turnId, call.id, subtask && !card?.folded && call.depth === 0);
  const bodyId = useId();
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
        <StatusMark status={markOf(call, card)} />
        <span className="tool-name" dir="auto" data-code={card ? undefined : call.title === null}>
          {card?.title ?? call.title ?? (call.hook ? turnWords.card.hook(call.name) : call.name)}
        </span>
        <Gist words={card ? card.gist(open) : call.hook?.decision ? turnWords.card.hookSaid[call.hook.decision] : argsGist(call)} result={open || card ? "" : resultGist(call)} />
        <span className="tool-meta">
          {card ? card.meta : subtask && <Inside entries={inside} named={isSubtask(call)} />}
          {call.usage && call.usage.input_tokens + call.usage.output_tokens > 0 && (
            <span className="tool-tokens">{turnWords.card.tokens(compact(call.usage.input_tokens + call.usage.output_tokens))}</span>
          )}
          <Elapsed call={call} />
        </span>
        <ChevronIcon />
      </button>
      {open && (
        <div id={bodyId} className="tool-body">
          {card?.body ?? (call.hook ? <Details call={call} type="hook" /> : subtask ? <SubtaskBody call={call} outline={outline} /> : <CallBody call={call} />)}
          {call.decision && call.decision !== "deny" && (
            <p className="tool-none" data-testid="decision">
              {turnWords.card.decided[call.decision]}
            </p>
          )}
        </div>
      )}
    </article>
  );
});

/** The features never change, so each drawing calls the same hooks. */
function useFeaturesCard(call: ToolEntry, outline: Outline): Card | null {
  const cards = features().map((feature) => feature.useCard?.(call, outline));
  return cards.find(Boolean) ?? null;
}

function Gist({ words, result }: { words: string; result: string }) {
  if (!words && !result) return null;
  return (
    <span className="tool-gist">
      <bdi>{words}</bdi>
      {result && (
        <>
          <span className="tool-arrow"> → </span>
          <bdi className="tool-gist-result">{result}</bdi>
        </>
      )}
    </span>
  );
}

function CallBody({ call }: { call: ToolEntry }) {
  return (
    <>
      <p className="tool-label">{turnWords.card.arguments}</p>
      <Details call={call} type="arguments" />
      <Details call={call} type="result" />
    </>
  );
}

type Mark = ToolStatus | "denied" | "waiting";

function markOf(call: ToolEntry, card: Card | null): Mark {
  if (isDenied(call)) return "denied";
  return card?.waiting ? "waiting" : call.status;
}

function StatusMark({ status }: { status: Mark }) {
  return (
    <span className="tool-status" data-mark={status}>
      {status === "running" && <span className="spinner" aria-hidden="true" />}
      {status === "done" && <CheckIcon />}
      {(status === "error" || status === "denied") && <CloseIcon />}
      {status === "waiting" && <PauseIcon />}
      <span className="visually-hidden">{turnWords.card.status[status]}: </span>
    </span>
  );
}

function Inside({ entries, named }: { entries: readonly TurnEntry[]; named: boolean }) {
  const count = entries.filter((entry) => entry.kind === "tool").length;
  const words = [named && turnWords.card.subtask, count > 0 && turnWords.card.calls(count)].filter(Boolean);
  return <span className="tool-inside">{words.join(", ")}</span>;
}

/** `instructions`: the instructions of the call, where its arguments would tell less. */
export function SubtaskBody({ call, outline, instructions }: Props & { instructions?: ReactNode }) {
  const { tokens } = useTurnFrame();
  const inside = childrenOf(outline, call.id);
  const last = inside.findLast((entry) => entry.kind === "text");
  // A subtask's result repeats its last text: it is shown once. A failure is always shown.
  const repeated =
    call.status === "done" && last?.kind === "text" && last.content.trim() === call.result?.trim();
  return (
    <>
      <Disclosure label={turnWords.card.instructions}>
        {instructions || <Details call={call} type="arguments" />}
      </Disclosure>
      <Entries entries={inside} outline={outline} clamped />
      {!repeated && (isProse(call) ? <WrittenResult text={call.result ?? ""} /> : <Details call={call} type="result" />)}
      {call.usage && (
        <p className="tool-share" data-testid="share">
          {shareText(call.usage, tokens)}
        </p>
      )}
    </>
  );
}

/** The result of a subtask is prose, unless the subtask failed, returned JSON, or has a part of its result alone. */
function isProse(call: ToolEntry): boolean {
  return call.status === "done" && !call.isCut && !/^\s*([[{]|$)/.test(call.result ?? "");
}

export function WrittenResult({ text }: { text: string }) {
  return (
    <Clamp growing={false}>
      <Markdown text={text} />
    </Clamp>
  );
}

/** Arguments, result and verdict are a part of the page: most cards stay folded. */
function Details({ call, type }: { call: ToolEntry; type: "arguments" | "result" | "hook" }) {
  const details = callDetails.use();
  if (!details) return <div aria-busy="true" />;
  const Part = { result: details.ToolResult, arguments: details.ToolArgs, hook: details.HookVerdict }[type];
  return <Part call={call} />;
}
