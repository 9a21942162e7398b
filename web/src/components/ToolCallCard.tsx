// One tool call; for a subtask, with everything that happened inside it. Recursive through Entries.
//
// What starts open: a subtask at the root, so that one sees what it is made of. All that is nested
// deeper, and every plain call, starts folded behind its header.

import { useId, useState } from "react";
import { childrenOf, type Outline } from "../turn/outline";
import { durationText } from "../turn/status";
import { isSubtask, type ToolEntry, type ToolStatus, type TurnEntry } from "../turn/view";
import { Clamp } from "./Clamp";
import { Disclosure } from "./Disclosure";
import { Entries } from "./Entries";
import { CheckIcon, ChevronIcon, CloseIcon } from "./Icons";
import { Markdown } from "./Markdown";
import { argsGist, ToolArgs } from "./ToolArgs";

const STATUS_WORDS: Record<ToolStatus, string> = {
  running: "running",
  done: "done",
  error: "failed",
};

export function ToolCallCard({ call, outline }: { call: ToolEntry; outline: Outline }) {
  const subtask = isSubtask(call);
  const [open, setOpen] = useState(subtask && call.depth === 0);
  const bodyId = useId();
  const gist = argsGist(call);
  return (
    <article
      className="tool-card"
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
        <span className="tool-name" data-code={call.title === null}>
          {call.title ?? call.name}
        </span>
        {gist && <span className="tool-gist">{gist}</span>}
        <span className="tool-meta">
          {subtask && <Inside entries={childrenOf(outline, call.id)} />}
          {call.durationMs !== null && <span>{durationText(call.durationMs)}</span>}
        </span>
        <ChevronIcon />
      </button>
      {open && (
        <div id={bodyId} className="tool-body">
          {subtask ? (
            <SubtaskBody call={call} outline={outline} />
          ) : (
            <>
              <h3>Arguments</h3>
              <ToolArgs call={call} />
              <Result call={call} />
            </>
          )}
        </div>
      )}
    </article>
  );
}

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

function Inside({ entries }: { entries: readonly TurnEntry[] }) {
  const calls = entries.filter((entry) => entry.kind === "tool").length;
  return <span className="tool-inside">{calls === 0 ? "subtask" : `subtask, ${calls} ${calls === 1 ? "call" : "calls"}`}</span>;
}

function SubtaskBody({ call, outline }: { call: ToolEntry; outline: Outline }) {
  const inside = childrenOf(outline, call.id);
  const last = inside.findLast((entry) => entry.kind === "text");
  // A subtask's result is its last text: once is enough. A failure's words are always shown.
  const repeated =
    call.status === "done" && last?.kind === "text" && last.content.trim() === call.result?.trim();
  return (
    <>
      <Disclosure label="Instructions">
        <ToolArgs call={call} />
      </Disclosure>
      <Entries entries={inside} outline={outline} clamped />
      {!repeated && (isProse(call) ? <WrittenResult text={call.result ?? ""} /> : <Result call={call} />)}
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
  return (
    <>
      <h3>{call.status === "error" ? "Error" : "Result"}</h3>
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
