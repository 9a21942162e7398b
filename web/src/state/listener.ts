import type { ThreadDetail } from "../wire";

/** Learns what happens to chats. */
export interface Listener {
  /** Loads the code that draws answers, if it can. A chat that is opened waits for it. */
  prepare: () => Promise<unknown>;
  /** The open chat was read. */
  read: (details: ThreadDetail) => void;
  began: (threadId: string, content: string) => void;
  ended: (threadId: string) => void;
  /** A tool ended. */
  called: (threadId: string, tool: string) => void;
  /** The person chose another version. */
  chose: (threadId: string) => void;
  /** The person decided about a call that waited. */
  answered: (threadId: string) => void;
  /** A message of this page waits for its turn, or a waiting message was changed here. */
  queued: (threadId: string) => void;
  /** The turn needs the person (`waits`), or has come to its end. A turn that somebody stopped is no news. */
  told: (threadId: string, turnId: string, what: "waits" | "ended" | "failed") => void;
}
