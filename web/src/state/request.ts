// The request of a message, with the choices of the person.

import type { TurnRequest } from "../api/threads";
import { features } from "../feature";
import type { TurnView } from "../turn/view";
import type { Content } from "../wire";
import { NEW_CHAT } from "./drafts";
import { setModel, settings } from "./settings";
import { requestPart } from "./subject";

/** Whether a request sends this message to this chat. A request without a chat made one. */
export function sends(request: TurnRequest, threadId: string | null, content: Content, replaced: string | null): boolean {
  return (
    JSON.stringify(request.content) === JSON.stringify(content) &&
    (threadId ?? request.thread_id) === request.thread_id &&
    (request.replaces_message_id ?? null) === replaced
  );
}

let isZoneRefused = false;

/** The next request goes without a member that the service refused: a model that the deployment no longer offers, or a time
 * zone that it does not know. */
export function leaveOut(field: string | null): void {
  if (field === "model") setModel(null);
  isZoneRefused ||= field === "time_zone";
}

/** A new request. `replaced`: the message that it replaces. `from`: the turn that it continues or asks again. */
export function requestOf(threadId: string | null, content: Content, replaced: string | null, from: TurnView | null): TurnRequest {
  const { model } = settings.get();
  const chat = threadId ?? NEW_CHAT;
  // None where the browser or the service does not know it.
  const zone = isZoneRefused ? null : Intl.DateTimeFormat().resolvedOptions().timeZone;
  return {
    content,
    thread_id: threadId ?? crypto.randomUUID(),
    turn_id: crypto.randomUUID(),
    ...(replaced && { replaces_message_id: replaced }),
    ...(model && { model }),
    ...(zone && zone !== "Etc/Unknown" && { time_zone: zone }),
    ...requestPart(chat),
    ...Object.assign({}, ...features().map((feature) => feature.request?.(chat, from))),
  };
}

/** A request that continues a turn instead of sending a message. */
export function continuationOf(threadId: string, turnId: string, from: TurnView | null): TurnRequest {
  const { content: _, ...rest } = requestOf(threadId, "", null, from);
  return { ...rest, continue: turnId };
}
