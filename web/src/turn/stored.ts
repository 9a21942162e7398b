// A stored message → the same TurnView that the live events would have given, less what is not
// stored (subtasks' streamed text, reasoning).

import type { Content, ExecutionNode, ExecutionTree, Message } from "../wire";
import { newTurn, type ToolEntry, type TurnView } from "./view";

export interface Exchange {
  turnId: string;
  question: string;
  /** Null when the service has stored none: the turn still runs, or its answer was lost. */
  answer: TurnView | null;
}

/** Messages, oldest first, paired by their turn. */
export function exchangesOf(messages: readonly Message[]): Exchange[] {
  const byTurn = new Map<string, Exchange>();
  for (const message of messages) {
    const exchange = byTurn.get(message.turn_id) ?? {
      turnId: message.turn_id,
      question: "",
      answer: null,
    };
    if (message.role === "user") exchange.question = plainText(message.content);
    else if (message.role === "assistant") exchange.answer = turnOf(message);
    byTurn.set(message.turn_id, exchange);
  }
  return [...byTurn.values()];
}

export function turnOf(message: Message): TurnView {
  const text = plainText(message.content);
  const stop = message.stop;
  return {
    ...newTurn(message.turn_id),
    entries: [
      ...callsOf(message.execution_tree),
      ...(text === ""
        ? []
        : [
            {
              kind: "text" as const,
              id: message.id,
              parentId: null,
              depth: 0,
              modelCallId: null,
              content: text,
              done: true,
            },
          ]),
    ],
    cost: message.usage ?? null,
    failure: stop ? { ...stop, retryable: RETRYABLE.has(stop.code) } : null,
    finishReason: message.finish_reason ?? "stop",
  };
}

/** Stored stops do not say whether they may be retried; these are the ones that pass by themselves. */
const RETRYABLE: ReadonlySet<string> = new Set([
  "interrupted",
  "provider_network",
  "provider_overloaded",
  "provider_rate_limited",
]);

/**
 * The cards of an execution tree. The nodes may come in any order. One whose parent is missing, or
 * is its own ancestor, is put at the root: a damaged tree is still shown whole.
 */
export function callsOf(tree: ExecutionTree | null | undefined): ToolEntry[] {
  // Another version nests by rules that this page does not know.
  if (!tree || tree.version !== 1) return [];
  const nodes = new Map(tree.nodes.map((node) => [node.id, node]));
  return [...nodes.values()].map((node) => {
    const depth = depthOf(node, nodes);
    return {
      kind: "tool",
      id: node.id,
      parentId: depth === 0 ? null : node.parent_id,
      depth,
      name: node.name,
      title: node.title ?? null,
      status: node.is_error ? "error" : "done",
      args: node.args_preview ?? null,
      result: cutMarked(node.result_preview ?? null),
      durationMs: node.duration_ms,
    };
  });
}

/** Previews end at this length, in the middle of a word if need be (docs/wire-protocol.md). */
const PREVIEW_CHARS = 500;

function cutMarked(preview: string | null): string | null {
  if (preview === null || preview.endsWith("…")) return preview;
  return [...preview].length >= PREVIEW_CHARS ? `${preview}…` : preview;
}

function depthOf(node: ExecutionNode, nodes: ReadonlyMap<string, ExecutionNode>): number {
  const above = new Set([node.id]);
  let parent = nodes.get(node.parent_id ?? "");
  while (parent) {
    if (above.has(parent.id)) return 0;
    above.add(parent.id);
    parent = nodes.get(parent.parent_id ?? "");
  }
  return above.size - 1;
}

function plainText(content: Content): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.text ?? "").join("");
}
