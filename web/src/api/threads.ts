// The routes of docs/wire-protocol.md, one function each.

import type { Decision, Health, Message, Thread, ThreadDetails } from "../wire";
import { request, requestJson } from "./http";

export interface ThreadPage {
  threads: Thread[];
  next_cursor: string | null;
}

export function listThreads(cursor: string | null): Promise<ThreadPage> {
  const query = new URLSearchParams({ limit: "50" });
  if (cursor !== null) query.set("cursor", cursor);
  return requestJson<ThreadPage>(`/api/threads?${query}`);
}

export function readThread(id: string, signal: AbortSignal): Promise<ThreadDetails> {
  return requestJson<ThreadDetails>(`/api/threads/${id}`, { signal });
}

export async function deleteThread(id: string): Promise<void> {
  await request(`/api/threads/${id}`, { method: "DELETE" });
}

/** All messages of a thread, page after page. */
export async function readMessages(id: string, signal: AbortSignal): Promise<Message[]> {
  const messages: Message[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: "200" });
    if (cursor !== null) query.set("cursor", cursor);
    const page: { messages: Message[]; next_cursor: string | null } = await requestJson(
      `/api/threads/${id}/messages?${query}`,
      { signal },
    );
    messages.push(...page.messages);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return messages;
}

/** What is sent: the words and two names chosen here. Which tools, and how, the service decides. */
export interface ChatRequest {
  content: string;
  thread_id: string;
  turn_id: string;
}

export function startTurn(body: ChatRequest, signal: AbortSignal): Promise<Response> {
  return request("/api/chat", {
    method: "POST",
    body,
    headers: { accept: "text/event-stream" },
    signal,
  });
}

export function readOn(threadId: string, after: number, signal: AbortSignal): Promise<Response> {
  return request(`/api/threads/${threadId}/stream`, {
    headers: { accept: "text/event-stream", "last-event-id": String(after) },
    signal,
  });
}

export async function cancelTurn(threadId: string): Promise<string | null> {
  const answer = await requestJson<{ turn_id: string | null }>(
    `/api/threads/${threadId}/cancel`,
    { method: "POST", body: {} },
  );
  return answer.turn_id;
}

export async function decide(threadId: string, approvalId: string, decision: Decision): Promise<void> {
  await request(`/api/threads/${threadId}/approvals/${approvalId}`, {
    method: "POST",
    body: { decision },
  });
}

export function readHealth(): Promise<Health> {
  return requestJson<Health>("/api/health");
}
