// The routes of a thread's agents.

import { request, requestJson } from "../../api/http";
import type { AgentList, AgentRounds, AgentSummary } from "../../wire.generated";

/** An agent with all that it remembers; the page changes its name alone. */
export type Dump = { name: string } & Record<string, unknown>;

function addressOf(threadId: string, name?: string): string {
  return `/api/threads/${threadId}/agents${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

export async function listAgents(threadId: string): Promise<AgentSummary[]> {
  return (await requestJson<AgentList>(addressOf(threadId))).agents;
}

/** A page of what an agent remembers: its newest rounds, or those before a cursor. */
export function readRounds(threadId: string, name: string, cursor: string | null): Promise<AgentRounds> {
  const query = cursor === null ? "" : `?${new URLSearchParams({ cursor })}`;
  return requestJson<AgentRounds>(`${addressOf(threadId, name)}/messages${query}`);
}

export async function dumpAgent(threadId: string, name: string): Promise<Blob> {
  return (await request(`${addressOf(threadId, name)}/dump`)).blob();
}

export async function restoreAgent(threadId: string, dump: Dump): Promise<AgentSummary[]> {
  return (await requestJson<AgentList>(addressOf(threadId), { method: "POST", body: dump })).agents;
}

export async function endAgent(threadId: string, name: string): Promise<void> {
  await request(addressOf(threadId, name), { method: "DELETE" });
}
