// The session of a chat in its file, as Markdown.

import type { ThreadDetail } from "../../../wire";
import { shown, SHOWN_CHARS } from "./checklist";
import { words } from "./en";

/** Null where the chat has none. */
export function textOf({ workflow_session }: ThreadDetail): string | null {
  const session = shown(workflow_session ?? null, 0, null);
  if (!session) return null;
  const { name, goal, steps } = session;
  const parts = [`# ${words.exported(oneLine(name ?? ""))}`, ...(goal === "" ? [] : [`${words.goal}${oneLine(goal)}`])];
  for (const { number, title, state, notes } of steps) {
    parts.push(`## ${words.step(number)}${oneLine(title ?? "")} (${words.marks[state]})`);
    const text = notes?.notes.trim() ?? "";
    if (text !== "") parts.push(text);
    if ([...text].length >= SHOWN_CHARS) parts.push(`_${words.cut(SHOWN_CHARS)}_`);
    if (notes?.artifacts?.length) parts.push(notes.artifacts.map((artifact) => `- ${oneLine(artifact)}`).join("\n"));
  }
  return parts.join("\n\n");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
