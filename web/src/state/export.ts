// A chat as a file, which the page makes of the service's messages.

import { readMessages, readThread } from "../api/threads";
import { en } from "../en";
import { childrenOf, outlineOf } from "../turn/outline";
import { callsOf } from "../turn/stored";
import type { StoredMessage, ThreadDetail } from "../wire";
import { saveBlob } from "./save";

export type Format = "markdown" | "json";

export async function exportThread(id: string, format: Format): Promise<void> {
  const { signal } = new AbortController();
  const [thread, messages] = await Promise.all([readThread(id, signal), readMessages(id, signal)]);
  const name = fileName(thread.title);
  if (format === "json") {
    save(`${name}.json`, "application/json", `${JSON.stringify({ thread, messages }, null, 2)}\n`);
  } else {
    save(`${name}.md`, "text/markdown", markdownOf(thread, messages));
  }
}

export function markdownOf(thread: ThreadDetail, messages: readonly StoredMessage[]): string {
  const parts = [`# ${thread.title.replace(/\s+/g, " ").trim() || en.sidebar.untitled}`];
  for (const message of messages) {
    parts.push(`## ${message.role === "user" ? en.exported.you : en.common.product}`);
    const steps = stepsOf(message);
    if (steps !== "") parts.push(steps);
    if (message.content.trim() !== "") parts.push(message.content.trim());
    if (message.stop) parts.push(`> ${message.stop.message.replace(/\n/g, "\n> ")}`);
  }
  return `${parts.join("\n\n")}\n`;
}

/** The tool calls as a nested list. */
function stepsOf(message: StoredMessage): string {
  const outline = outlineOf(callsOf(message.execution_tree));
  const lines: string[] = [];
  const add = (parent: string | null, indent: string) => {
    for (const call of childrenOf(outline, parent)) {
      if (call.kind !== "tool") continue;
      const result = call.result === null ? "" : `: ${oneLine(call.result)}`;
      lines.push(`${indent}- ${oneLine(call.title ?? call.name)}${call.status === "error" ? en.exported.failed : ""}${result}`);
      add(call.id, `${indent}  `);
    }
  };
  add(null, "");
  return lines.join("\n");
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
