// The routes of share links.

import { request, requestJson } from "../../api/http";
import type { CreatedShare, NewShare, ShareList } from "../../wire.generated";

export function listShares(): Promise<ShareList> {
  return requestJson<ShareList>("/api/shares");
}

export function createShare(threadId: string, chosen: NewShare): Promise<CreatedShare> {
  return requestJson<CreatedShare>(`/api/threads/${threadId}/shares`, { method: "POST", body: chosen });
}

export async function revokeShare(id: string): Promise<void> {
  await request(`/api/shares/${encodeURIComponent(id)}`, { method: "DELETE" });
}
