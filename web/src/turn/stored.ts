// A stored message → the TurnView that the live events would have given. Of long arguments and results the service has
// kept the beginning.

import type { ExecutionTree, MessagePart, StoredMessage, TreeModelCall, TreeNode, TurnVersion } from "../wire";
import { withoutMarks, type Medium } from "./attachments";
import { knownFrom } from "./features";
import { versionsOf } from "./versions";
import { DETAIL_CHARS, newTurn, summaryEntry, titlesOf, type ModelCall, type TextEntry, type ToolEntry, type TurnEntry, type TurnView } from "./view";

export interface Exchange {
  turnId: string;
  question: string;
  /** The images and PDFs of the question. */
  media: readonly Medium[];
  /** The id of the stored question; null in a turn that began here, whose answer knows the id. */
  questionId: string | null;
  askedAt: number;
  /** Null when the service has stored none: the turn still runs, or its answer is lost. */
  answer: TurnView | null;
  /** The versions of the turn, itself included; none where it is the only one. */
  versions: readonly TurnVersion[];
}

/** Messages, oldest first, paired by their turn. */
export function exchangesOf(messages: readonly StoredMessage[], versions: readonly TurnVersion[] = []): Exchange[] {
  const byTurn = new Map<string, Exchange>();
  for (const message of messages) {
    const exchange = byTurn.get(message.turn_id) ?? {
      turnId: message.turn_id,
      question: "",
      media: [],
      questionId: null,
      askedAt: message.created_at,
      answer: null,
      versions: versionsOf(message.turn_id, versions),
    };
    if (message.role === "user") {
      const { text, media } = withoutMarks(message.content);
      exchange.question = text;
      exchange.media = media;
      exchange.questionId = message.id;
    } else if (message.role === "assistant") exchange.answer = turnOf(message);
    byTurn.set(message.turn_id, exchange);
  }
  return [...byTurn.values()];
}

/** A turn that begins now, here or elsewhere, after these. */
export function begunExchange(
  turnId: string,
  question: string,
  media: readonly Medium[] = [],
  before: readonly Exchange[] = [],
  versions: readonly TurnVersion[] = [],
): Exchange {
  return { turnId, question, media, questionId: null, askedAt: Date.now(), answer: newTurn(turnId, before), versions };
}

/** Whether the question is known. The page may know a turn before its question. */
export function isAsked({ question, media }: Exchange): boolean {
  return question !== "" || media.length > 0;
}

/** The id of the stored question, for a turn that replaces it. */
export function questionIdOf({ questionId, answer }: Exchange): string | null {
  return questionId ?? answer?.questionId ?? null;
}

/** The exchanges as they were read again. An unchanged one keeps its object on screen, which knows more and is not drawn again. */
export function renewed(shown: readonly Exchange[], read: readonly Exchange[]): Exchange[] {
  const known = new Map(shown.map((exchange) => [exchange.turnId, exchange]));
  return read.map((exchange) => {
    const old = known.get(exchange.turnId);
    const same = old?.answer && old.answer.finishReason !== null && exchange.answer && old.question === exchange.question;
    if (!same) return exchange;
    return JSON.stringify(old.versions) === JSON.stringify(exchange.versions) ? old : { ...old, versions: exchange.versions };
  });
}

export function turnOf(message: StoredMessage): TurnView {
  const stop = message.stop;
  return {
    ...newTurn(message.turn_id),
    answerId: message.id,
    entries: entriesOf(message),
    modelCalls: (message.execution_tree?.model_calls ?? []).map(modelCallOf),
    features: knownFrom(message),
    cost: message.usage ?? null,
    budget: stop?.budget ? { ...stop.budget, left: stop.left ?? [] } : null,
    failure: stop ? { code: stop.code, message: stop.message, retryable: RETRYABLE.has(stop.code) } : null,
    finishReason: message.finish_reason ?? "stop",
  };
}

/** A stored stop does not tell whether a retry makes sense. These causes pass by themselves. */
const RETRYABLE: ReadonlySet<string> = new Set([
  "interrupted",
  "provider_network",
  "provider_overloaded",
  "provider_rate_limited",
]);

/** The entries in the order in which readers saw them. Plain answers have no parts, as have messages of earlier versions. */
export function entriesOf(message: StoredMessage): TurnEntry[] {
  const calls = callsOf(message.execution_tree);
  const written = (kind: TextEntry["kind"], id: string, content: string, call?: ToolEntry): TextEntry => ({
    kind,
    id,
    parentId: call?.id ?? null,
    depth: call ? call.depth + 1 : 0,
    modelCallId: null,
    content,
    done: true,
  });
  const parts = message.parts ?? [];
  if (parts.length === 0) return message.content === "" ? calls : [...calls, written("text", message.id, message.content)];
  const byId = new Map(calls.map((call) => [call.id, call]));
  const left = new Set(calls);
  const entries = parts.flatMap((part, index): TurnEntry[] => {
    if (part.type === "call") {
      const call = byId.get(part.tool_call_id);
      return call && left.delete(call) ? [withDetails(call, part)] : [];
    }
    if (part.type === "summary") return [summaryEntry(part.text ?? null)];
    // A later version may store other parts. The tree of a long turn may lack the call around a text.
    const around = byId.get(part.parent_id ?? "");
    if ((part.type !== "text" && part.type !== "reasoning") || (part.parent_id && !around)) return [];
    return [written(part.type, `${message.id}/${index}`, part.text, around)];
  });
  // The parts of a long turn may lack its last calls.
  return [...entries, ...left].map((entry) => (entry.kind === "tool" ? withWholeResult(entry, entries) : entry));
}

/** The tree has previews of arguments and results. The part has more of those that are longer. */
function withDetails(call: ToolEntry, { args, result, sources }: MessagePart & { type: "call" }): ToolEntry {
  const known = result == null ? {} : { result, isCut: isBeginning(result, [DETAIL_CHARS]) };
  return { ...call, args: args ?? call.args, ...known, sources: titlesOf(sources) };
}

/** A subtask's result repeats its last text. The tree has the beginning of it alone. */
function withWholeResult(call: ToolEntry, entries: readonly TurnEntry[]): ToolEntry {
  const begun = call.isCut ? call.result?.slice(0, -1).trim() : undefined;
  const last = entries.findLast((entry) => entry.kind === "text" && entry.parentId === call.id);
  if (begun === undefined || last?.kind !== "text" || !last.content.trim().startsWith(begun)) return call;
  return { ...call, result: last.content, isCut: false };
}

/**
 * The cards of an execution tree. The nodes may come in any order. A node whose parent is missing, or which is its own
 * ancestor, stands at the root: so a damaged tree is shown whole.
 */
export function callsOf(tree: ExecutionTree | null | undefined): ToolEntry[] {
  // The page does not know how another version nests.
  if (!tree || tree.version !== 1) return [];
  const nodes = new Map(tree.nodes.map((node) => [node.id, node]));
  return [...nodes.values()].map((node) => {
    const depth = depthOf(node, nodes);
    const result = cutMarked(node.result_preview ?? null);
    return {
      kind: "tool",
      id: node.id,
      parentId: depth === 0 ? null : node.parent_id,
      depth,
      name: node.name,
      title: node.title ?? null,
      status: node.is_error ? "error" : "done",
      args: node.args_preview ?? null,
      result,
      isCut: isBeginning(result ?? "", PREVIEWS),
      startedMs: node.started_ms ?? null,
      durationMs: node.duration_ms,
      usage: node.usage ?? null,
      sources: [],
      decision: node.decision ?? null,
      ...(node.hook && { hook: { decision: null, failed: false, ...node.hook } }),
    };
  });
}

function modelCallOf(call: TreeModelCall): ModelCall {
  return {
    id: call.id,
    parentId: call.parent_id,
    model: call.model,
    startedMs: call.started_ms,
    firstByteMs: call.first_byte_ms ?? null,
    durationMs: call.duration_ms,
    usage: call.usage ?? null,
    costUsd: call.cost_usd ?? null,
    finishReason: call.finish_reason,
  };
}

/** The service cuts previews at this length, if need be within a word (docs/wire-protocol.md). */
const PREVIEW_CHARS = 500;

/** The lengths of cut previews: the others are those in a tree that would have been too large (`storage/fit.rs`). */
const PREVIEWS = [PREVIEW_CHARS, 121, 31, 1];

/** A text that the service has cut. Others may end in an ellipsis of their own. */
function isBeginning(text: string, lengths: readonly number[]): boolean {
  return text.endsWith("…") && lengths.includes([...text].length);
}

function cutMarked(preview: string | null): string | null {
  if (preview === null || preview.endsWith("…")) return preview;
  return [...preview].length >= PREVIEW_CHARS ? `${preview}…` : preview;
}

function depthOf(node: TreeNode, nodes: ReadonlyMap<string, TreeNode>): number {
  const above = new Set([node.id]);
  let parent = nodes.get(node.parent_id ?? "");
  while (parent) {
    if (above.has(parent.id)) return 0;
    above.add(parent.id);
    parent = nodes.get(parent.parent_id ?? "");
  }
  return above.size - 1;
}
