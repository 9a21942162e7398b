// The wire as the service speaks it (docs/wire-protocol.md). What goes through a thread's object is generated from the
// service's own types; names are spelt as they are there, and whatever is added later is ignored here.

import type { Numbered } from "./wire.generated";

export type {
  AgentState,
  ChatRequest,
  Content,
  ContentPart,
  CostSummary,
  Decision,
  ExecutionTree,
  FileEntry,
  FileList,
  FinishReason,
  MessageList,
  ModelCost,
  SentContent,
  StoredMessage,
  ThreadDetail,
  ThreadList,
  ThreadSummary,
  TreeNode,
  TurnLimits,
} from "./wire.generated";

// What follows, up to the next line, comes to be generated like the rest: then it is exported from there.

/** Something that is remembered about a user from one thread to the next. */
export interface Memory {
  id: string;
  content: string;
  created_at: number;
  /** When it was last said. */
  updated_at: number;
}

/** A page of a user's memories, newest first. */
export interface MemoryList {
  memories: Memory[];
  next_cursor: string | null;
}

/** Documents that a chat can be asked to look into. */
export interface Collection {
  id: string;
  name: string;
  /** Blank where there is none. */
  description: string;
  documents: number;
  bytes: number;
  created_at: number;
  updated_at: number;
}

export interface CollectionList {
  collections: Collection[];
  next_cursor: string | null;
}

/** What is kept of it is its text, in pieces. */
export interface Document {
  id: string;
  name: string;
  media_type: string;
  bytes: number;
  chunks: number;
  created_at: number;
}

export interface DocumentList {
  documents: Document[];
  next_cursor: string | null;
}

// ----

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

/** `GET /api/health`; like the one above it is the Worker's own answer, so its type stands here. */
export interface Health {
  status: string;
  version?: string;
  provider?: string;
  model?: string;
}
