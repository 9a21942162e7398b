// events → TurnView. Pure: the same events give the same view, however often the connection was
// cut in between, since repeated events are recognised by their sequence number.

import type { ChunkEvent, ToolCallUpdateEvent, TurnEvent } from "../wire";
import { plansAfter, STEP_TOOL } from "./plan";
import { SUBTASK_TOOL, type Begun, type TextEntry, type ToolEntry, type TurnEntry, type TurnView } from "./view";

export function reduceTurn(view: TurnView, event: TurnEvent): TurnView {
  if (event.turn_id !== view.turnId || event.seq <= view.lastSeq) return view;
  return { ...apply(view, event), plans: plansAfter(view, event), lastSeq: event.seq };
}

function apply(view: TurnView, event: TurnEvent): TurnView {
  switch (event.type) {
    case "session":
      return { ...view, questionId: event.user_message_id, limits: event.limits ?? null };
    case "agent_state":
      return { ...view, agent: { state: event.state, details: event.details ?? null } };
    case "chunk":
      return { ...view, entries: withChunk(view.entries, event) };
    case "tool_call_update":
      return {
        ...view,
        entries: withToolCall(view.entries, event),
        begun: event.status === "start" ? begunTool(view.begun, event.name) : view.begun,
      };
    case "approval_request": {
      const { approval_id: id, name, args } = event;
      return { ...view, approvals: [...view.approvals, { id, name, args, decision: null }] };
    }
    case "approval_resolved":
      return {
        ...view,
        approvals: view.approvals.map((asked) =>
          asked.id === event.approval_id ? { ...asked, decision: event.decision } : asked,
        ),
      };
    case "model_call_update":
      return event.status === "end"
        ? { ...view, entries: view.entries.map((entry) => closed(entry, event.model_call_id)) }
        : { ...view, begun: { ...view.begun, llm_calls: view.begun.llm_calls + 1 } };
    case "model_call_reset":
      // The call is made again, and the budget counts it again.
      return {
        ...view,
        begun: { ...view.begun, llm_calls: view.begun.llm_calls + 1 },
        entries: view.entries.filter(
          (entry) => entry.kind === "tool" || entry.modelCallId !== event.model_call_id,
        ),
      };
    case "budget_exceeded": {
      const { reason, limit, observed } = event;
      return { ...view, budget: { reason, limit, observed } };
    }
    case "error": {
      const { code, message, retryable } = event;
      return { ...view, failure: { code, message, retryable } };
    }
    case "cost_summary":
      return { ...view, cost: event };
    case "done":
      return {
        ...view,
        agent: null,
        approvals: [],
        finishReason: event.finish_reason,
        entries: view.entries.map(settled),
      };
    default:
      // Types of a later version are none of our business.
      return view;
  }
}

function withChunk(entries: TurnEntry[], event: ChunkEvent): TurnEntry[] {
  const id = `${event.model_call_id}/${event.part_id}`;
  const at = entries.findLastIndex((entry) => entry.id === id);
  const known = entries[at];
  if (known && known.kind !== "tool") {
    return entries.with(at, {
      ...known,
      content: known.content + event.content,
      done: known.done || event.done === true,
    });
  }
  // The empty chunk that closes a part without text opens nothing.
  if (event.content === "") return entries;
  const part: TextEntry = {
    kind: event.kind === "reasoning" ? "reasoning" : "text",
    id,
    parentId: event.parent_id ?? null,
    depth: event.depth ?? 0,
    modelCallId: event.model_call_id,
    content: event.content,
    done: event.done === true,
  };
  return [...entries, part];
}

function withToolCall(entries: TurnEntry[], event: ToolCallUpdateEvent): TurnEntry[] {
  const at = entries.findLastIndex((entry) => entry.id === event.tool_call_id);
  const known = entries[at];
  const call: ToolEntry =
    known?.kind === "tool"
      ? known
      : {
          kind: "tool",
          id: event.tool_call_id,
          parentId: event.parent_id ?? null,
          depth: event.depth ?? 0,
          name: event.name,
          title: titleOf(event),
          status: "running",
          args: event.args ?? null,
          result: null,
          startedMs: event.started_ms ?? null,
          durationMs: null,
          usage: null,
        };
  const next: ToolEntry =
    event.status === "start"
      ? call
      : {
          ...call,
          status: event.is_error ? "error" : "done",
          result: event.result ?? null,
          durationMs: event.duration_ms ?? null,
          usage: event.usage ?? null,
        };
  return at === -1 ? [...entries, next] : entries.with(at, next);
}

/** Close to what the service counts: it leaves out calls that it refuses, which are told like others. */
function begunTool(begun: Begun, name: string): Begun {
  return {
    ...begun,
    tool_calls: begun.tool_calls + 1,
    subtasks: begun.subtasks + (name === SUBTASK_TOOL ? 1 : 0),
  };
}

/** Of calls that are levels, as in the stored tree: elsewhere a title is an argument like others. */
function titleOf({ name, args }: ToolCallUpdateEvent): string | null {
  const title = name === SUBTASK_TOOL || name === STEP_TOOL ? args?.["title"] : null;
  return typeof title === "string" && title.trim() !== "" ? title : null;
}

function closed(entry: TurnEntry, modelCallId: string): TurnEntry {
  return entry.kind !== "tool" && entry.modelCallId === modelCallId && !entry.done
    ? { ...entry, done: true }
    : entry;
}

/** Nothing goes on after `done`: a spinner that turned for ever would be a lie. */
function settled(entry: TurnEntry): TurnEntry {
  if (entry.kind !== "tool") return entry.done ? entry : { ...entry, done: true };
  return entry.status === "running" ? { ...entry, status: "error" } : entry;
}
