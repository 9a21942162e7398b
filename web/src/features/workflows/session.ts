// The session of the open chat: as the service had it when the page read the chat, and the news of it since then.

import type { Exchange } from "../../turn/stored";
import { Store } from "../../state/store";
import type { ThreadDetail } from "../../wire";
import type { WorkflowSession } from "../../wire.generated";
import { newsOf, type News } from "./knowledge";

interface Kept {
  threadId: string | null;
  session: WorkflowSession | null;
  /** The number of the newest event when it was read. */
  seq: number;
}

export const kept = new Store<Kept>({ threadId: null, session: null, seq: 0 });

export function keep({ id, last_seq, workflow_session }: ThreadDetail): void {
  kept.set({ threadId: id, session: workflow_session ?? null, seq: last_seq });
}

/** The newest news in a chat. */
export function newest(exchanges: readonly Exchange[]): News | null {
  for (let at = exchanges.length - 1; at >= 0; at -= 1) {
    const answer = exchanges[at]?.answer;
    const news = answer && newsOf(answer);
    if (news) return news;
  }
  return null;
}
