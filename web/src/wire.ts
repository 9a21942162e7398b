// The wire's types that the core of the page uses (docs/wire-protocol.md). Most are generated from the service's own
// types, with the same names. A feature imports its own types from `wire.generated`. The page ignores members that a
// later service adds.

import type { Numbered, SignInWay } from "./wire.generated";

export type {
  ApprovalList,
  ChatRequest,
  Content,
  ContentPart,
  CostSummary,
  Decision,
  ExecutionTree,
  FinishReason,
  Form,
  HookDecision,
  HookPoint,
  HookList,
  LeftUndone,
  MessageList,
  MessageQueue,
  ModelCost,
  QueuedMessage,
  MessagePart,
  SentContent,
  Source,
  StoredMessage,
  ThreadDetail,
  ThreadList,
  ThreadState,
  ThreadSummary,
  TreeModelCall,
  TreeNode,
  Usage,
  TurnLimits,
  TurnVersion,
  UsageList,
  UsageRow,
} from "./wire.generated";

/** One event with its number and its turn. */
export type TurnEvent = Numbered;

type EventOf<Type extends TurnEvent["type"]> = Extract<TurnEvent, { type: Type }>;

export type ApprovalRequestEvent = EventOf<"approval_request">;
export type HookUpdateEvent = EventOf<"hook_update">;
export type LimitRequestEvent = EventOf<"limit_request">;
export type LimitResolvedEvent = EventOf<"limit_resolved">;
export type ChunkEvent = EventOf<"chunk">;
export type ModelCallUpdateEvent = EventOf<"model_call_update">;
export type ToolCallUpdateEvent = EventOf<"tool_call_update">;

/** `GET /api/models`: the members that the choice of a model needs. */
export interface ModelList {
  /** The ids of each role's models, in the order in which they are asked. */
  roles: Record<string, string[]>;
  models: { id: string; provider: string; model: string; capabilities?: { vision?: boolean } }[];
}

/** `POST /api/session`: the user of this browser's requests. */
export interface Session {
  user_id: string;
  expires_at: number | null;
  scopes: string[];
  /** The API key of a person who signed in with one. */
  key: { prefix: string; name: string } | null;
  /** The name of the identity provider at which the person signed in. */
  provider?: string;
  /** The identity providers at which a visitor can sign in. */
  sign_in?: SignInWay[];
}

/** `GET /api/health`. The Worker itself gives this answer and those above, so their types stand here. */
export interface Health {
  status: string;
  version?: string;
  provider?: string;
  model?: string;
  /** Whether a chat may have agents that stay. */
  agents?: boolean;
  /** Whether a model names a chat after its first answer. */
  titles?: boolean;
  /** Whether people may share chats by a link. */
  shares?: boolean;
}
