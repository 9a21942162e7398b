// The routes of threads and turns (docs/routes.md), one function for each.

import type {
  ApprovalList,
  ChatRequest,
  Content,
  Decision,
  Health,
  MessageList,
  ModelList,
  SentContent,
  StoredMessage,
  ThreadDetail,
  ThreadList,
  TurnVersion,
  UsageList,
} from "../wire";
import type { Answers } from "../turn/form";
import { request, requestJson } from "./http";

/** A page of the list; `wanted` selects threads that contain these words. */
export function listThreads(cursor: string | null, wanted = "", signal?: AbortSignal): Promise<ThreadList> {
  const query = new URLSearchParams({ limit: "50" });
  if (wanted !== "") query.set("q", wanted);
  if (cursor !== null) query.set("cursor", cursor);
  return requestJson<ThreadList>(`/api/threads?${query}`, signal ? { signal } : {});
}

export function readThread(id: string, signal: AbortSignal): Promise<ThreadDetail> {
  return requestJson<ThreadDetail>(`/api/threads/${id}`, { signal });
}

export function renameThread(id: string, title: string): Promise<ThreadDetail> {
  return requestJson<ThreadDetail>(`/api/threads/${id}`, { method: "PATCH", body: { title } });
}

export function pinThread(id: string, pinned: boolean): Promise<ThreadDetail> {
  return requestJson<ThreadDetail>(`/api/threads/${id}`, { method: "PATCH", body: { pinned } });
}

/** The request arrives even while the page is being closed. */
export async function deleteThread(id: string): Promise<void> {
  await request(`/api/threads/${id}`, { method: "DELETE", keepalive: true });
}

/** Makes the conversation go through a turn, to the newest turn below it. */
export function choosePath(id: string, turnId: string): Promise<ThreadDetail> {
  return requestJson<ThreadDetail>(`/api/threads/${id}`, { method: "PATCH", body: { current_turn_id: turnId } });
}

/** Messages, and the versions of their turns. */
export interface Messages {
  messages: StoredMessage[];
  versions: TurnVersion[];
}

/** The messages of a thread, page after page. `all`: those beside its path as well. */
export async function readMessages(id: string, signal: AbortSignal, all = false): Promise<Messages> {
  const messages: StoredMessage[] = [];
  const versions: TurnVersion[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: "200" });
    if (all) query.set("versions", "all");
    if (cursor !== null) query.set("cursor", cursor);
    const page: MessageList = await requestJson(
      `/api/threads/${id}/messages?${query}`,
      { signal },
    );
    messages.push(...page.messages);
    // A turn that lies on two pages has its versions on both.
    const known = new Set(versions.map(({ turn_id }) => turn_id));
    versions.push(...(page.versions ?? []).filter(({ turn_id }) => !known.has(turn_id)));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { messages, versions };
}

/** A message as it was sent, with its images and files. */
export async function readContent(threadId: string, messageId: string, signal: AbortSignal): Promise<Content> {
  const path = `/api/threads/${threadId}/messages/${messageId}/content`;
  const answer = await requestJson<SentContent>(path, { signal });
  return answer.content;
}

/** The message, and two ids that the page chooses. The service chooses the tools. */
export interface TurnRequest extends ChatRequest {
  thread_id: string;
  turn_id: string;
}

export function startTurn(body: TurnRequest, signal: AbortSignal): Promise<Response> {
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

export interface DecisionParts {
  /** Fills in the form of the call. */
  content?: Answers;
  /** Tells the model why the call is denied. */
  reason?: string;
}

/** Answers a call that waits for the reader's decision. */
export async function decide(threadId: string, approvalId: string, decision: Decision, more: DecisionParts = {}): Promise<void> {
  await request(`/api/threads/${threadId}/approvals/${approvalId}`, { method: "POST", body: { decision, ...more } });
}

/** The tools that the reader allowed for the whole chat. */
export function listApprovals(threadId: string): Promise<ApprovalList> {
  return requestJson<ApprovalList>(`/api/threads/${threadId}/approvals`);
}

export async function withdrawApproval(threadId: string, tool: string): Promise<void> {
  await request(`/api/threads/${threadId}/approvals/${encodeURIComponent(tool)}`, { method: "DELETE" });
}

/** The usage of this user's turns. */
export function readUsage(): Promise<UsageList> {
  return requestJson<UsageList>("/api/usage");
}

export function readModels(): Promise<ModelList> {
  return requestJson<ModelList>("/api/models");
}

export function readHealth(): Promise<Health> {
  return requestJson<Health>("/api/health");
}
