// The session of the open chat: as the service had it when the page read the chat, and the news of it since then.

import type { Turns } from "../../feature";
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
export function newest(turns: Turns): News | null {
  return turns.reduce<News | null>((news, { answer }) => (answer && newsOf(answer)) ?? news, null);
}
