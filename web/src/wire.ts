// The wire as the service speaks it (docs/wire-protocol.md). What goes through a thread's object is generated from the
// service's own types; names are spelt as they are there, and whatever is added later is ignored here.

import type { Numbered } from "./wire.generated";

export type {
  AgentState,
  ApprovalList,
  ChatContext,
  ChatRequest,
  Collection,
  CollectionList,
  Content,
  ContentPart,
  CostSummary,
  Decision,
  Document,
  DocumentDetail,
  DocumentList,
  ExecutionTree,
  FileEntry,
  FileList,
  FinishReason,
  Memory,
  MemoryList,
  MessageList,
  ModelCost,
  Plan,
  PlanReview,
  PlanStep,
  ProjectDetail,
  ProjectEntry,
  ProjectList,
  ProjectTask,
  SentContent,
  StoredMessage,
  ThreadDetail,
  ThreadList,
  ThreadSummary,
  TreeNode,
  TurnLimits,
  UsageList,
  UsageRow,
} from "./wire.generated";

/** One event with its number and its turn. */
export type TurnEvent = Numbered;

type EventOf<Type extends TurnEvent["type"]> = Extract<TurnEvent, { type: Type }>;

export type ChunkEvent = EventOf<"chunk">;
export type ToolCallUpdateEvent = EventOf<"tool_call_update">;

/** `GET /api/models`, as far as a person chooses by it. */
export interface ModelList {
  /** The ids of each role's models, in the order in which they are asked. */
  roles: Record<string, string[]>;
  models: { id: string; provider: string; model: string; capabilities?: { vision?: boolean } }[];
}

/** `POST /api/session`: whom the requests of this browser stand for. */
export interface Session {
  user_id: string;
  expires_at: number | null;
  scopes: string[];
  /** The API key that somebody signed in with. */
  key: { prefix: string; name: string } | null;
}

/** `GET /api/health`; like those above it is the Worker's own answer, so its type stands here. */
export interface Health {
  status: string;
  version?: string;
  provider?: string;
  model?: string;
}
