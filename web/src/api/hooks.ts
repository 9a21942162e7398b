// The routes of a chat's hooks.

import type { HookList } from "../wire";
import { requestJson } from "./http";

/** The hooks of a chat, and those of the operator. */
export function listHooks(threadId: string, signal: AbortSignal): Promise<HookList> {
  return requestJson<HookList>(`/api/threads/${threadId}/hooks`, { signal });
}
