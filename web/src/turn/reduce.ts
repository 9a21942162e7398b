// Events → TurnView. The same events give the same view, however often the connection was cut: repeated events are
// recognised by their number.

import type { ApprovalRequestEvent, ChunkEvent, FinishReason, HookUpdateEvent, LimitRequestEvent, LimitResolvedEvent, ModelCallUpdateEvent, ToolCallUpdateEvent, TurnEvent } from "../wire";
import { isFeaturesLevel, isFeaturesSubtask, knownAfter } from "./features";
import { SUBTASK_TOOL, summaryEntry, titlesOf, type Approval, type Begun, type LimitRequest, type ModelCall, type TextEntry, type ToolEntry, type TurnEntry, type TurnView } from "./view";

export function reduceTurn(view: TurnView, event: TurnEvent): TurnView {
  if (event.turn_id !== view.turnId || event.seq <= view.lastSeq) return view;
  return { ...apply(view, event), features: knownAfter(view, event), lastSeq: event.seq };
}

function apply(view: TurnView, event: TurnEvent): TurnView {
  switch (event.type) {
    case "session":
      return { ...view, questionId: event.user_message_id, answerId: event.assistant_message_id, limits: event.limits ?? null };
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
    case "approval_request":
      return { ...view, approvals: [...view.approvals, approvalOf(event)] };
    case "approval_resolved": {
      const { approval_id: id, decision } = event;
      return { ...view, approvals: view.approvals.map((asked) => (asked.id === id ? { ...asked, decision } : asked)) };
    }
    case "limit_request":
    case "limit_resolved":
      return atLimit(view, event);
    case "model_call_update":
      return {
        ...view,
        modelCalls: withModelCall(view.modelCalls, event),
        ...(event.status === "end"
          ? { entries: view.entries.map((entry) => closed(entry, event.model_call_id)) }
          : { begun: { ...view.begun, llm_calls: view.begun.llm_calls + 1 } }),
      };
    case "model_call_reset":
      // The service makes the call again, and counts it again.
      return {
        ...view,
        begun: { ...view.begun, llm_calls: view.begun.llm_calls + 1 },
        entries: view.entries.filter((entry) => entry.kind === "tool" || entry.modelCallId !== event.model_call_id),
      };
    case "hook_update":
      return { ...view, entries: withHook(view.entries, event) };
    case "history_summary":
      return { ...view, entries: withSummary(view.entries, event.text ?? null) };
    case "budget_exceeded": {
      const { reason, limit, observed, left } = event;
      return { ...view, budget: { reason, limit, observed, left: left ?? [] } };
    }
    case "error": {
      const { code, message, retryable } = event;
      return { ...view, failure: { code, message, retryable } };
    }
    case "cost_summary":
      return { ...view, cost: event };
    case "done":
      return over(view, event.finish_reason);
    default:
      // A later version may send other types.
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
  // An empty chunk may close a part that has no text. It opens no entry.
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

function approvalOf(event: ApprovalRequestEvent): Approval {
  const { approval_id: id, name, args, permission_class: permissionClass, expires_at: expiresAt } = event;
  const { read_only: readOnly = false, by_client: byClient = false, form = null } = event;
  return { id, name, args, permissionClass, readOnly, byClient, form, expiresAt, decision: null };
}

function over(view: TurnView, finishReason: FinishReason): TurnView {
  const entries = view.entries.map(settled);
  return { ...view, agent: null, approvals: [], limitRequests: [], finishReason, entries };
}

function atLimit(view: TurnView, event: LimitRequestEvent | LimitResolvedEvent): TurnView {
  if (event.type === "limit_request") return { ...view, limitRequests: [...view.limitRequests, limitRequestOf(event)] };
  const { approval_id: id, decision, limits } = event;
  const limitRequests = view.limitRequests.map((asked) => (asked.id === id ? { ...asked, decision } : asked));
  return { ...view, limitRequests, limits };
}

function limitRequestOf(event: LimitRequestEvent): LimitRequest {
  const { approval_id: id, reason, limit, raised_to: raisedTo, grants_left: grantsLeft, usage, expires_at: expiresAt } = event;
  return { id, reason, limit, raisedTo, grantsLeft, usage, expiresAt, decision: null };
}

function withModelCall(calls: ModelCall[], event: ModelCallUpdateEvent): ModelCall[] {
  // Events of an earlier version have no times.
  if (event.started_ms == null) return calls;
  const call: ModelCall = {
    id: event.model_call_id,
    parentId: event.parent_id ?? null,
    model: event.model,
    startedMs: event.started_ms,
    firstByteMs: event.first_byte_ms ?? null,
    durationMs: event.duration_ms ?? null,
    usage: event.usage ?? null,
    costUsd: event.cost_usd ?? null,
    finishReason: event.finish_reason ?? null,
  };
  const at = calls.findLastIndex(({ id }) => id === call.id);
  return at === -1 ? [...calls, call] : calls.with(at, call);
}

/** A later summary takes the place of the one before. */
function withSummary(entries: TurnEntry[], text: string | null): TurnEntry[] {
  const note = summaryEntry(text);
  const at = entries.findIndex(({ id }) => id === note.id);
  return at === -1 ? [...entries, note] : entries.with(at, note);
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
          isCut: false,
          startedMs: event.started_ms ?? null,
          durationMs: null,
          usage: null,
          sources: [],
          decision: null,
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
          sources: titlesOf(event.sources),
          decision: event.decision ?? null,
        };
  return at === -1 ? [...entries, next] : entries.with(at, next);
}

/** A hook is an entry like a call. One that asks no model has an end alone. */
function withHook(entries: TurnEntry[], event: HookUpdateEvent): TurnEntry[] {
  const { hook_call_id: id, hook: name, point, text: result = null, failed = false, decision = null } = event;
  const call = { ...event, type: "tool_call_update" as const, tool_call_id: id, name, result, is_error: failed, decision: null };
  return withToolCall(entries, call).map((entry) => (entry.id === id ? { ...entry, hook: { point, decision, failed } } : entry));
}

/** Nearly the count of the service. The service leaves out calls that it refuses; their events look like others. */
function begunTool(begun: Begun, name: string): Begun {
  return {
    ...begun,
    tool_calls: begun.tool_calls + 1,
    subtasks: begun.subtasks + (name === SUBTASK_TOOL || isFeaturesSubtask(name) ? 1 : 0),
  };
}

/** As in the stored tree, only calls that contain other calls have a title. Elsewhere `title` is a plain argument. */
function titleOf({ name, args }: ToolCallUpdateEvent): string | null {
  const title = name === SUBTASK_TOOL || isFeaturesLevel(name) ? args?.["title"] : null;
  return typeof title === "string" && title.trim() !== "" ? title : null;
}

function closed(entry: TurnEntry, modelCallId: string): TurnEntry {
  return entry.kind !== "tool" && entry.modelCallId === modelCallId && !entry.done
    ? { ...entry, done: true }
    : entry;
}

/** Everything ends with `done`: otherwise a spinner would turn for ever. */
function settled(entry: TurnEntry): TurnEntry {
  if (entry.kind !== "tool") return entry.done ? entry : { ...entry, done: true };
  return entry.status === "running" ? { ...entry, status: "error" } : entry;
}
