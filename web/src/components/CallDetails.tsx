// A call's arguments and its result, or the verdict of a hook, in an open card.

import { features } from "../feature";
import { turnWords } from "../turn/en";
import { shareText } from "../turn/status";
import { beginning, DETAIL_CHARS, isDenied, reasonOf, type ToolEntry } from "../turn/view";
import { argFields } from "./gist";
import { failed } from "./hooks/en";
import { WrittenResult } from "./ToolCallCard";
import { useTurnFrame } from "./TurnContext";

export function ToolArgs({ call }: { call: ToolEntry }) {
  return (
    <>
      <Fields call={call} />
      {typeof call.args === "string" && call.args.endsWith("…") && <Cut words={turnWords.card.argumentsCut} />}
    </>
  );
}

function Fields({ call }: { call: ToolEntry }) {
  const fields = argFields(call.args);
  if (fields === null) return <pre tabIndex={0} dir="auto">{String(call.args)}</pre>;
  const shown = fields.filter(([name]) => !(name === "title" && call.title !== null));
  if (shown.length === 0) return <p className="tool-none">{turnWords.card.noArguments}</p>;
  return (
    <dl className="tool-args">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Cut({ words }: { words: string }) {
  return (
    <p className="tool-none" data-testid="cut">
      {words}
    </p>
  );
}

export function ToolResult({ call }: { call: ToolEntry }) {
  if (call.status === "running") return null;
  const result = call.result ?? "";
  if (isDenied(call)) {
    const reason = reasonOf(call);
    return (
      <>
        <p className="tool-label">{turnWords.card.denied}</p>
        <p className="tool-none">{turnWords.card.deniedWords}</p>
        {reason !== null && <p dir="auto" data-testid="denied-reason">{turnWords.card.deniedBecause(reason)}</p>}
      </>
    );
  }
  const shown = beginning(result, DETAIL_CHARS);
  const drawn = features().map((feature) => feature.result?.(call)).find(Boolean);
  if (drawn) {
    return (
      <>
        <p className="tool-label">{drawn.label}</p>
        {drawn.body}
        {call.isCut && <Cut words={turnWords.card.resultCut} />}
      </>
    );
  }
  return (
    <>
      <p className="tool-label">{call.status === "error" ? turnWords.card.error : turnWords.card.result}</p>
      {result === "" ? (
        <p className="tool-none">{call.status === "error" ? turnWords.card.unfinished : turnWords.card.emptyResult}</p>
      ) : (
        <pre className="tool-result" tabIndex={0} dir="auto">
          {shown}
        </pre>
      )}
      {(call.isCut || shown !== result) && <Cut words={turnWords.card.resultCut} />}
    </>
  );
}

/** The verdict of a hook, its words, and its share of the turn. */
export function HookVerdict({ call }: { call: ToolEntry }) {
  const { tokens } = useTurnFrame();
  const { hook } = call;
  return (
    <>
      {hook?.decision && (
        <p className="tool-none" data-testid="hook-verdict">
          {hook.failed ? (hook.decision === "block" ? failed.block : failed.allow) : turnWords.card.hookSaid[hook.decision]}
        </p>
      )}
      {call.result && <WrittenResult text={call.result} />}
      {call.usage && (
        <p className="tool-share" data-testid="share">
          {shareText(call.usage, tokens)}
        </p>
      )}
    </>
  );
}
