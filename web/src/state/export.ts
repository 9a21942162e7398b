// A chat as a file, which the page makes of the service's messages.

import { listHooks } from "../api/hooks";
import { readMessages, readThread } from "../api/threads";
import { en } from "../en";
import { features } from "../feature";
import { childrenOf, outlineOf, type Outline } from "../turn/outline";
import { entriesOf } from "../turn/stored";
import { titlesOf, type ToolEntry } from "../turn/view";
import type { StoredMessage, ThreadDetail } from "../wire";
import { saveBlob } from "./save";

export type Format = "markdown" | "json";

/** `pinnedAt`: the list of chats tells it, and the chat does not. */
export async function exportThread(id: string, format: Format, pinnedAt: number | null = null): Promise<void> {
  const { signal } = new AbortController();
  const [read, { hooks }, { messages: path }, { messages, versions }, more] = await Promise.all([
    readThread(id, signal),
    listHooks(id, signal),
    readMessages(id, signal),
    readMessages(id, signal, true),
    format === "json" ? exportedByFeatures(id, signal) : {},
  ]);
  const thread = pinnedAt === null ? read : { ...read, pinned_at: pinnedAt };
  const name = fileName(thread.title);
  if (format === "json") {
    save(`${name}.json`, "application/json", `${JSON.stringify({ thread, hooks, ...more, messages, versions }, null, 2)}\n`);
  } else {
    const written = await Promise.all(features().map((feature) => feature.written?.(thread)));
    save(`${name}.md`, "text/markdown", markdownOf(thread, path, besides(path, messages), written.filter((text) => !!text)));
  }
}

async function exportedByFeatures(id: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const parts = await Promise.all(features().flatMap(({ exported }) => exported?.(id, signal) ?? []));
  return Object.assign({}, ...parts);
}

/** The messages that are not on the path. */
function besides(path: readonly StoredMessage[], messages: readonly StoredMessage[]): StoredMessage[] {
  const shown = new Set(path.map(({ id }) => id));
  return messages.filter(({ id }) => !shown.has(id));
}

/** The conversation, and behind it what features add and the messages of its other versions. */
export function markdownOf(
  thread: ThreadDetail,
  messages: readonly StoredMessage[],
  others: readonly StoredMessage[] = [],
  written: readonly (string | null | undefined)[] = [],
): string {
  const parts = [`# ${thread.title.replace(/\s+/g, " ").trim() || en.sidebar.untitled}`, ...messages.flatMap(messageText), ...written];
  if (others.length > 0) parts.push(`# ${en.exported.otherVersions}`, ...others.flatMap(messageText));
  return `${parts.join("\n\n")}\n`;
}

function messageText(message: StoredMessage): string[] {
  const title = `## ${message.role === "user" ? en.exported.you : en.common.product}`;
  return [title, ...entriesText(message), ...sourcesText(message), ...(message.stop ? [quoted(message.stop.message)] : [])];
}

/** The documents that the answer comes from, each once. */
function sourcesText(message: StoredMessage): string[] {
  const titles = new Set(titlesOf((message.parts ?? []).flatMap((part) => (part.type === "call" ? (part.sources ?? []) : []))));
  return titles.size > 0 ? [en.exported.sources([...titles].map(oneLine).join(", "))] : [];
}

/** Text, reasoning as quotations, and calls as lists, in order of appearance. */
function entriesText(message: StoredMessage): string[] {
  const outline = outlineOf(entriesOf(message));
  const texts: string[] = [];
  let steps: string[] = [];
  const closeList = () => {
    if (steps.length > 0) texts.push(steps.join("\n"));
    steps = [];
  };
  for (const entry of childrenOf(outline, null)) {
    if (entry.kind === "tool") {
      steps.push(...stepsOf(entry, outline, ""));
      continue;
    }
    closeList();
    const text = entry.content.trim();
    if (entry.kind === "summary") texts.push(quoted(text === "" ? en.answer.leftOut : `${en.answer.summarised}\n\n${text}`));
    else if (text !== "") texts.push(entry.kind === "text" ? text : quoted(text));
  }
  closeList();
  return texts;
}

/** A call and the calls within it, as a nested list. */
function stepsOf(call: ToolEntry, outline: Outline, indent: string): string[] {
  const result = call.result === null ? "" : `: ${oneLine(call.result)}`;
  const inside = childrenOf(outline, call.id).filter((entry) => entry.kind === "tool");
  return [
    `${indent}- ${oneLine(call.title ?? call.name)}${call.status === "error" ? en.exported.failed : ""}${result}`,
    ...inside.flatMap((inner) => stepsOf(inner, outline, `${indent}  `)),
  ];
}

function quoted(text: string): string {
  return `> ${text.replace(/\n/g, "\n> ")}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function fileName(title: string): string {
  const name = title.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").toLowerCase();
  return name.slice(0, 60) || "chat";
}

function save(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}
