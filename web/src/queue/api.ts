// The routes of the messages that wait for their turn (docs/wire-protocol.md), one function for each.

import { request, requestJson } from "../api/http";
import type { MessageQueue } from "../wire";

export function readQueue(threadId: string): Promise<MessageQueue> {
  return requestJson<MessageQueue>(`/api/threads/${threadId}/queue`);
}

/** Lets a held queue go on. */
export function resumeQueue(threadId: string): Promise<MessageQueue> {
  return requestJson<MessageQueue>(`/api/threads/${threadId}/queue`, { method: "PATCH", body: { held: false } });
}

export function editQueued(threadId: string, id: string, content: string): Promise<MessageQueue> {
  return requestJson<MessageQueue>(`/api/threads/${threadId}/queue/${id}`, { method: "PATCH", body: { content } });
}

export async function removeQueued(threadId: string, id: string): Promise<void> {
  await request(`/api/threads/${threadId}/queue/${id}`, { method: "DELETE" });
}
