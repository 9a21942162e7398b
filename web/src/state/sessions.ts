// The sessions of this user: this browser's and those of other browsers.

import { endOtherSessions, endSession, listSessions } from "../api/sessions";
import type { SessionSummary } from "../wire.generated";
import { Paged } from "./paged";

export const sessions = new Paged<SessionSummary>(async () => ({ items: (await listSessions()).sessions, next_cursor: null }));

export function end({ id }: SessionSummary): Promise<boolean> {
  return sessions.remove(id, () => endSession(id));
}

/** Ends all sessions but this browser's, and reads the list again. */
export async function endOthers(): Promise<void> {
  if (await sessions.attempt(endOtherSessions)) await sessions.load();
}
