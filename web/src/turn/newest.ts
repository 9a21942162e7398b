// The work that goes on in a running turn, in a line for each part of it: a subtask with its newest words, or a call.

import { argsGist } from "../components/gist";
import { callsIn, isSubtask, type ToolEntry, type TurnView } from "./view";

export interface Line {
  id: string;
  title: string;
  words: string;
}

/** The most lines on screen, and the most characters of one. */
const MAX_LINES = 6;
const MAX_CHARS = 120;

export function newestLines(view: TurnView): { lines: Line[]; more: number } {
  const running = callsIn(view).filter(({ status }) => status === "running");
  const parents = new Set(view.entries.map(({ parentId }) => parentId));
  const contains = (call: ToolEntry) => isSubtask(call) || parents.has(call.id);
  const inner = new Set(running.filter(contains).map(({ parentId }) => parentId));
  // A subtask whose subtasks run says nothing that they do not; a call within a subtask is its newest word.
  const shown = running.filter((call) => (contains(call) ? !inner.has(call.id) : call.parentId === null));
  const lines = shown.slice(0, MAX_LINES).map((call) => ({ id: call.id, title: call.title ?? call.name, words: contains(call) ? newestWords(view, call.id) : argsGist(call) }));
  return { lines, more: shown.length - lines.length };
}

/** The end of what stands last within a call. */
function newestWords({ entries }: TurnView, id: string): string {
  const last = entries.findLast(({ parentId }) => parentId === id);
  if (!last) return "";
  if (last.kind === "tool") return [last.title ?? last.name, argsGist(last)].filter(Boolean).join(" ");
  const line = last.content.trimEnd().split("\n").at(-1)?.replace(/^[\s#>*-]+/, "") ?? "";
  return line.length <= MAX_CHARS ? line : `…${line.slice(-MAX_CHARS)}`;
}
