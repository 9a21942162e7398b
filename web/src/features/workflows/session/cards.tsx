// The cards of the calls by which a session goes on.

import type { ReactNode } from "react";
import { Clamp } from "../../../components/Clamp";
import { Disclosure } from "../../../components/Disclosure";
import { Entries } from "../../../components/Entries";
import { Markdown } from "../../../components/Markdown";
import type { Card } from "../../../feature";
import { childrenOf, type Outline } from "../../../turn/outline";
import { isDenied, type ToolEntry, type TurnEntry } from "../../../turn/view";
import { COMPLETE, OUTPUT, PLANNED, REVIEW, VERIFY } from "../knowledge";
import { firstLine, listOf, membersOf, objectIn, textOf, type Members } from "./arguments";
import { Artifacts } from "./Docked";
import { words } from "./en";
import { Plan } from "./question";

const { cards } = words;

/** `stepTitle`: the title of a step of the chat's session, from 1 on; null where the page does not know it. */
export function cardOf(call: ToolEntry, outline: Outline, stepTitle: (step: number) => string | null = () => null): Card | null {
  const inside = childrenOf(outline, call.id);
  switch (call.name) {
    case COMPLETE:
      return completeCard(call, stepTitle);
    case VERIFY:
      return verifyCard(call, inside, outline);
    case REVIEW:
      return reviewCard(call);
    case PLANNED:
      return plannedCard(call, inside, outline);
    case OUTPUT:
      return outputCard(call, inside, outline);
    default:
      return null;
  }
}

function completeCard(call: ToolEntry, stepTitle: (step: number) => string | null): Card {
  const written = membersOf(call);
  const notes = notesIn(written);
  const title = call.status === "running" ? cards.completing : call.status === "error" ? cards.refused : doneTitle(call, stepTitle);
  return {
    title,
    gist: (open) => (open ? "" : firstLine(notes)),
    meta: null,
    folded: true,
    body: (
      <>
        <Written members={written} label={null} />
        <Told call={call} />
      </>
    ),
  };
}

/** The step that a call ended, by the sentence that the service answers. */
function doneTitle({ result }: ToolEntry, stepTitle: (step: number) => string | null): string {
  const step = Number(/^Step (\d+) of \d+ is done/.exec(result ?? "")?.[1] ?? 0);
  return step === 0 ? cards.complete : cards.completed(step, stepTitle(step));
}

function verifyCard(call: ToolEntry, inside: readonly TurnEntry[], outline: Outline): Card {
  const verdict = call.status === "done" ? (objectIn(call.result) ?? membersOf({ args: call.result })) : {};
  const instruction = textOf(verdict, "retry_instruction");
  const reasoning = textOf(verdict, "reasoning");
  return {
    title: cards.verify,
    gist: () => (call.status === "running" ? "" : (cards.verdicts[textOf(verdict, "assessment")] ?? cards.noVerdict)),
    meta: null,
    folded: true,
    body: (
      <div data-testid="workflow-verdict">
        <Prose text={reasoning} />
        {instruction !== "" && <p className="tool-label">{cards.instruction}</p>}
        <Prose text={instruction} />
        <Told call={call} />
        <Around label={cards.checked} entries={inside} outline={outline} />
      </div>
    ),
  };
}

function reviewCard(call: ToolEntry): Card {
  const asked = membersOf(call);
  const decided = call.decision === "expired" ? cards.expired : isDenied(call) ? cards.denied : call.status === "done" ? cards.allowed : "";
  return {
    title: cards.review,
    gist: () => [textOf(asked, "title"), decided].filter(Boolean).join(": "),
    meta: null,
    folded: true,
    body: (
      <>
        <Prose text={textOf(asked, "notes")} />
        <Plan actions={listOf(asked, "plan")} />
      </>
    ),
  };
}

/** The tool by which models hand in their plans and notes. */
const HANDS_IN = "finish_subtask";

function plannedCard(call: ToolEntry, inside: readonly TurnEntry[], outline: Outline): Card {
  const written = objectIn(call.result) ?? membersOf({ args: call.status === "done" ? call.result : null });
  const isWork = (entry: TurnEntry) => entry.kind === "tool" && entry.name !== HANDS_IN;
  const work = inside.filter(isWork);
  return {
    title: call.title ?? cards.planned,
    gist: (open) => (open ? cards.planned : firstLine(notesIn(written)) || cards.planned),
    meta: work.length > 0 && <span>{cards.calls(work.length)}</span>,
    body: (
      <>
        <Around label={cards.madePlan} entries={inside.filter((entry) => !isWork(entry))} outline={outline} />
        <Entries entries={work} outline={outline} clamped />
        <Written members={written} label={cards.notes} />
        <Told call={call} />
      </>
    ),
  };
}

function outputCard(call: ToolEntry, inside: readonly TurnEntry[], outline: Outline): Card {
  const written = membersOf(call);
  const thought = textOf(written, "thought");
  const isEnd = written["isComplete"] === true && call.status !== "error";
  const calls = inside.filter(({ kind }) => kind === "tool").length;
  return {
    title: cards.output,
    gist: (open) => (open ? "" : firstLine(notesIn(written))),
    meta: <span>{[calls > 0 && cards.calls(calls), isEnd && cards.completes].filter(Boolean).join(", ")}</span>,
    folded: calls === 0,
    body: (
      <>
        {thought !== "" && (
          <Disclosure label={cards.thought}>
            <Markdown text={thought} />
          </Disclosure>
        )}
        <Entries entries={inside} outline={outline} clamped />
        <Written members={written} label={isEnd ? cards.notes : cards.notesSoFar} />
        <Told call={call} />
      </>
    ),
  };
}

function notesIn(members: Members): string {
  return textOf(members, "notesMarkdown", "notes");
}

/** Notes, artifacts and values, as a model wrote them. */
function Written({ members, label }: { members: Members; label: string | null }) {
  const notes = notesIn(members);
  const artifacts = listOf(members, "artifacts").filter((each) => typeof each === "string");
  const values = members["contextUpdates"];
  const handedOn = typeof values === "object" && values !== null ? Object.entries(values) : [];
  return (
    <>
      {label !== null && notes !== "" && <p className="tool-label">{label}</p>}
      <Prose text={notes} />
      <Artifacts artifacts={artifacts} />
      {handedOn.length > 0 && (
        <>
          <p className="tool-label">{cards.handedOn}</p>
          <dl className="tool-args">
            {handedOn.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd dir="auto">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </>
  );
}

function Prose({ text }: { text: string }) {
  return text.trim() === "" ? null : (
    <Clamp growing={false}>
      <Markdown text={text} />
    </Clamp>
  );
}

/** The reason of a failure. The results of other calls are for the model: they say nothing that the card does not. */
function Told({ call: { status, result } }: { call: ToolEntry }): ReactNode {
  return status === "error" && result ? (
    <p className="workflow-refused" dir="auto" data-testid="workflow-refused">
      {result}
    </p>
  ) : null;
}

function Around({ label, entries, outline }: { label: string; entries: readonly TurnEntry[]; outline: Outline }) {
  return entries.length === 0 ? null : (
    <Disclosure label={label}>
      <Entries entries={entries} outline={outline} clamped />
    </Disclosure>
  );
}
