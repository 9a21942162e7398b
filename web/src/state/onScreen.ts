// The state of the open chat.

import type { Exchange } from "../turn/stored";
import type { Running } from "./clock";
import type { Problem } from "./problem";

export interface ConversationState {
  /** Null: a new chat, without a message yet. */
  threadId: string | null;
  phase: "loading" | "ready" | "missing" | "failed";
  exchanges: Exchange[];
  running: Running | null;
  /** Why the last act failed. */
  problem: Problem | null;
}

/** A new chat. */
export const EMPTY: ConversationState = {
  threadId: null,
  phase: "ready",
  exchanges: [],
  running: null,
  problem: null,
};
