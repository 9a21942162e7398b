import { en } from "../en";
import type { Outline } from "../turn/outline";
import { sideBySide } from "../turn/timeline";
import type { TextEntry, TurnEntry } from "../turn/view";
import { Clamp } from "./Clamp";
import { Disclosure } from "./Disclosure";
import { Markdown } from "./Markdown";
import { ToolCallCard } from "./ToolCallCard";

interface Props {
  entries: readonly TurnEntry[];
  outline: Outline;
  /** Long texts are clamped: inside a card text is a detail. */
  clamped?: boolean;
}

export function Entries({ entries, outline, clamped = false }: Props) {
  return sideBySide(entries).map((group) => {
    const [first] = group;
    if (!first) return null;
    const drawn = group.map((entry) => <EntryView key={entry.id} entry={entry} outline={outline} clamped={clamped} />);
    // A group has the key of its first call, so that this call stays mounted when others join it.
    return first.kind === "tool" ? (
      <div key={first.id} className="side-by-side" data-testid="side-by-side" data-calls={group.length}>
        {group.length > 1 && <p className="side-by-side-note">{en.answer.parallel(group.length)}</p>}
        {drawn}
      </div>
    ) : (
      drawn
    );
  });
}

function EntryView({ entry, outline, clamped }: { entry: TurnEntry; outline: Outline; clamped: boolean }) {
  switch (entry.kind) {
    case "tool":
      return <ToolCallCard call={entry} outline={outline} />;
    case "reasoning":
      return <Reasoning part={entry} />;
    case "summary":
      return <Summary text={entry.content} />;
    case "text":
      return clamped ? (
        <Clamp growing={!entry.done}>
          <Markdown text={entry.content} growing={!entry.done} />
        </Clamp>
      ) : (
        <Markdown text={entry.content} growing={!entry.done} />
      );
  }
}

function Summary({ text }: { text: string }) {
  if (text === "") return <p className="disclosure-note">{en.answer.leftOut}</p>;
  return (
    <Disclosure label={en.answer.summarised}>
      <Markdown text={text} growing={false} />
    </Disclosure>
  );
}

function Reasoning({ part }: { part: TextEntry }) {
  return (
    <Disclosure label={part.done ? en.answer.reasoning : en.answer.reasoningNow} busy={!part.done}>
      <Markdown text={part.content} growing={!part.done} />
    </Disclosure>
  );
}
