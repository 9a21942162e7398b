// The wire as the service speaks it (docs/wire-protocol.md), and nothing else: names are spelt as
// they are there. Whatever is added there later is ignored here.

interface EventBase {
  seq: number;
  turn_id: string;
}

/** Where an event belongs: inside the `run_subtask` call `parent_id`, or at the root. */
interface Placed {
  parent_id?: string | null;
  depth?: number;
}

export interface SessionEvent extends EventBase {
  type: "session";
  thread_id: string;
  user_message_id: string;
  assistant_message_id: string;
  /** Absent where the turn's events are not kept any more. */
  provider?: string;
  model?: string;
  /** `truncated`: this one event stands for all of the turn's, and its `messages` are what is left of it. */
  resumed?: string;
  messages?: Message[];
}

export interface AgentStateEvent extends EventBase {
  type: "agent_state";
  state: "thinking" | "executing_plan" | "waiting_on_user";
  context_type: string;
  details?: string | null;
}

export interface ModelCallUpdateEvent extends EventBase, Placed {
  type: "model_call_update";
  model_call_id: string;
  status: "start" | "end";
  model: string;
  finish_reason?: string | null;
}

export interface ChunkEvent extends EventBase, Placed {
  type: "chunk";
  content: string;
  part_id: string;
  model_call_id: string;
  done?: boolean;
  kind?: "text" | "reasoning";
}

export interface ToolCallUpdateEvent extends EventBase, Placed {
  type: "tool_call_update";
  tool_call_id: string;
  name: string;
  status: "start" | "end";
  args?: Record<string, unknown>;
  result?: string;
  is_error?: boolean;
  duration_ms?: number;
}

/** A call that waits until a person allows it. */
export interface ApprovalRequestEvent extends EventBase, Placed {
  type: "approval_request";
  approval_id: string;
  tool_call_id: string;
  name: string;
  args: Record<string, unknown>;
  permission_class: string;
  expires_at: number;
}

export interface ApprovalResolvedEvent extends EventBase, Placed {
  type: "approval_resolved";
  approval_id: string;
  tool_call_id: string;
  decision: Decision | "expired";
}

/** What a person may say to a request for approval. */
export type Decision = "approve" | "approve_for_thread" | "deny";

export interface ModelCallResetEvent extends EventBase, Placed {
  type: "model_call_reset";
  model_call_id: string;
  reason: string;
}

export interface BudgetExceededEvent extends EventBase {
  type: "budget_exceeded";
  reason: string;
  limit: number;
  observed: number;
}

export interface Usage {
  llm_calls: number;
  tool_calls: number;
  subtasks: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export interface CostSummaryEvent extends EventBase, Usage {
  type: "cost_summary";
}

export interface ErrorEvent extends EventBase {
  type: "error";
  code: string;
  message: string;
  retryable: boolean;
}

export type FinishReason =
  | "stop"
  | "length"
  | "content_filter"
  | "cancelled"
  | "budget"
  | "error"
  | "interrupted";

export interface DoneEvent extends EventBase {
  type: "done";
  message_id: string;
  finish_reason: FinishReason;
}

export type TurnEvent =
  | SessionEvent
  | AgentStateEvent
  | ModelCallUpdateEvent
  | ChunkEvent
  | ToolCallUpdateEvent
  | ApprovalRequestEvent
  | ApprovalResolvedEvent
  | ModelCallResetEvent
  | BudgetExceededEvent
  | CostSummaryEvent
  | ErrorEvent
  | DoneEvent;

export interface ExecutionNode {
  id: string;
  parent_id: string | null;
  name: string;
  title?: string | null;
  args_preview?: string | null;
  result_preview?: string | null;
  is_error?: boolean;
  duration_ms: number;
}

export interface ExecutionTree {
  version: number;
  nodes: ExecutionNode[];
  /** How many of the last calls were left out. */
  omitted?: number;
}

export type Content = string | { type: string; text?: string }[];

export interface Message {
  id: string;
  turn_id: string;
  role: "user" | "assistant";
  content: Content;
  created_at: number;
  finish_reason?: FinishReason | null;
  stop?: { code: string; message: string } | null;
  usage?: Usage | null;
  execution_tree?: ExecutionTree | null;
}

export interface Thread {
  id: string;
  title: string;
  created_at: number;
  updated_at: number;
}

export interface ThreadDetails extends Thread {
  last_seq: number;
  running_turn_id: string | null;
  running_turn_first_seq: number | null;
}

export interface Health {
  status: string;
  version?: string;
  provider?: string;
  model?: string;
}
