// The tools that the reader allowed for the whole of the open chat.

import { listApprovals, withdrawApproval } from "../api/threads";
import { conversation } from "./page";
import { Paged } from "./paged";

/** Its id is the tool's name. */
export interface StandingApproval {
  id: string;
}

export const approvals = new Paged<StandingApproval>(async () => {
  const { threadId } = conversation.store.get();
  const list = threadId === null ? [] : (await listApprovals(threadId)).approvals;
  return { items: list.map(({ name }) => ({ id: name })), next_cursor: null };
});

export async function withdraw({ id }: StandingApproval): Promise<void> {
  const { threadId } = conversation.store.get();
  if (threadId !== null) await approvals.remove(id, () => withdrawApproval(threadId, id));
}
