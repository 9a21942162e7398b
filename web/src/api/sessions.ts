// The routes of sessions.

import type { SessionList } from "../wire.generated";
import { request, requestJson } from "./http";

export function listSessions(): Promise<SessionList> {
  return requestJson<SessionList>("/api/me/sessions");
}

export async function endSession(id: string): Promise<void> {
  await request(`/api/me/sessions/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Ends all sessions but that of the request. */
export async function endOtherSessions(): Promise<void> {
  await request("/api/me/sessions", { method: "DELETE" });
}
