// A call of agents as a conversation: the prompt, each speaker with its words, and the listeners.

import { childrenOf, type Outline } from "../../turn/outline";
import type { TextEntry, ToolEntry, TurnEntry } from "../../turn/view";
import { REPLY_TOOL } from "./knowledge";

export interface Speech {
  call: ToolEntry;
  name: string;
  /** `cut`: the end of its turn ended it. */
  state: "speaking" | "said" | "failed" | "cut";
  inside: readonly TurnEntry[];
  /** Words beside those of `inside`: the reason of a failure, or a note of the service. */
  note: string;
}

export interface Discussion {
  prompt: string;
  speeches: readonly Speech[];
  listeners: readonly string[];
}

/**
 * A stored call has the beginnings of its arguments and of its result alone, 500 characters of each. The page shows no
 * more than this of them, so that a reload changes nothing.
 */
const KEPT_CHARS = 240;
const KEPT_NOTE_CHARS = 400;

/** How the service tells that nobody was asked, and that a speaker failed. */
const TOLD = /^Told to (.+)\. Nobody was asked\.$/;
const FAILED = /^\[I could not answer: ([^]*?)\]?$/;

export function discussionOf(call: ToolEntry, outline: Outline): Discussion {
  const replies = childrenOf(outline, call.id).filter((entry) => entry.kind === "tool" && entry.name === REPLY_TOOL);
  const speeches = replies.map((reply) => speechOf(reply as ToolEntry, outline));
  const told = TOLD.exec(call.result ?? "")?.[1]?.split(", ") ?? [];
  const heard = speeches.flatMap(({ call }) => heardBy(call));
  const listeners = [...new Set([...told, ...heard])].filter((name) => !speeches.some((speech) => speech.name === name));
  return { prompt: shortened(textIn(call, "prompt"), KEPT_CHARS), speeches, listeners };
}

function speechOf(call: ToolEntry, outline: Outline): Speech {
  const own = childrenOf(outline, call.id);
  const result = (call.result ?? "").trim();
  const last = lastText(own) ?? answerOf(own.at(-1), result, outline);
  const inside = last === undefined || own.includes(last) ? own : [...own, last];
  const failure = FAILED.exec(result)?.[1];
  const state = call.status === "running" ? "speaking" : call.status === "error" ? "cut" : failure === undefined ? "said" : "failed";
  const note = failure ?? besides(result, last?.content.trim() ?? "");
  return { call, name: call.title ?? textIn(call, "title"), state, inside, note: shortened(note, KEPT_NOTE_CHARS) };
}

function lastText(entries: readonly TurnEntry[]): TextEntry | undefined {
  return entries.findLast((entry): entry is TextEntry => entry.kind === "text");
}

/** The text within a call that answered: an agent of code has no text beside its call. */
function answerOf(call: TurnEntry | undefined, result: string, outline: Outline): TextEntry | undefined {
  const last = call?.kind === "tool" ? lastText(childrenOf(outline, call.id)) : undefined;
  const begins = last?.content.trim().slice(0, KEPT_NOTE_CHARS);
  return begins && result.startsWith(begins) ? last : undefined;
}

/** The part of a result that is not in the last text already. */
function besides(result: string, said: string): string {
  if (said.length > KEPT_NOTE_CHARS && result.startsWith(said.slice(0, KEPT_NOTE_CHARS))) return "";
  return (result.startsWith(said) ? result.slice(said.length) : result).trim();
}

function shortened(text: string, most: number): string {
  const chars = [...text];
  return chars.length <= most ? text : `${chars.slice(0, most).join("").trimEnd()}…`;
}

/** The names are short: their list is whole in a stored call as well. */
function heardBy({ args }: ToolEntry): string[] {
  const given = typeof args === "string" ? (/"heard_by":\[([^\]]*)\]/.exec(args)?.[1]?.match(/[a-z][a-z0-9_-]*/g) ?? []) : args?.["heard_by"];
  return Array.isArray(given) ? given.filter((name) => typeof name === "string") : [];
}

/** A text among the arguments of a call; empty where there is none. Stored arguments may end within it. */
export function textIn({ args }: ToolEntry, name: string): string {
  if (typeof args !== "string") {
    const value = args?.[name];
    return typeof value === "string" ? value.trim() : "";
  }
  const found = new RegExp(`(?:^|[^\\\\])"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(args)?.[1] ?? "";
  try {
    return (JSON.parse(`"${found.replace(/\\u[0-9a-fA-F]{0,3}$/, "")}"`) as string).trim();
  } catch {
    return "";
  }
}

/** The people of a discussion, for its folded card. */
export function namesIn(call: ToolEntry, outline: Outline): string {
  const { speeches, listeners } = discussionOf(call, outline);
  return [...new Set(speeches.map(({ name }) => name)), ...listeners].join(", ");
}
