import type { Outline } from "../turn/outline";
import type { TextEntry, TurnEntry } from "../turn/view";
import { Clamp } from "./Clamp";
import { Disclosure } from "./Disclosure";
import { Markdown } from "./Markdown";
import { ToolCallCard } from "./ToolCallCard";

interface Props {
  entries: readonly TurnEntry[];
  outline: Outline;
  /** Inside a card text is a detail: it is kept short until somebody asks for it. */
  clamped?: boolean;
}

export function Entries({ entries, outline, clamped = false }: Props) {
  return entries.map((entry) => {
    switch (entry.kind) {
      case "tool":
        return <ToolCallCard key={entry.id} call={entry} outline={outline} />;
      case "reasoning":
        return <Reasoning key={entry.id} part={entry} />;
      case "text":
        return clamped ? (
          <Clamp key={entry.id} growing={!entry.done}>
            <Markdown text={entry.content} />
          </Clamp>
        ) : (
          <Markdown key={entry.id} text={entry.content} />
        );
    }
  });
}

function Reasoning({ part }: { part: TextEntry }) {
  return (
    <Disclosure label={part.done ? "Reasoning" : "Reasoning…"} busy={!part.done}>
      <Markdown text={part.content} />
    </Disclosure>
  );
}
