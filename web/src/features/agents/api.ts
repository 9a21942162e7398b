// The routes of a thread's agents and hooks.

import { request, requestJson } from "../../api/http";
import type { AgentList, AgentRounds, Hook, HookList, NewHook } from "../../wire.generated";

/** An agent with all that it remembers; the page changes its name alone. */
export type Dump = { name: string } & Record<string, unknown>;

function addressOf(threadId: string, name?: string): string {
  return `/api/threads/${threadId}/agents${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

export function listAgents(threadId: string): Promise<AgentList> {
  return requestJson<AgentList>(addressOf(threadId));
}

/** A page of what an agent remembers: its newest rounds, or those before a cursor. */
export function readRounds(threadId: string, name: string, cursor: string | null): Promise<AgentRounds> {
  const query = cursor === null ? "" : `?${new URLSearchParams({ cursor })}`;
  return requestJson<AgentRounds>(`${addressOf(threadId, name)}/messages${query}`);
}

export async function dumpAgent(threadId: string, name: string): Promise<Blob> {
  return (await request(`${addressOf(threadId, name)}/dump`)).blob();
}

export function restoreAgent(threadId: string, dump: Dump): Promise<AgentList> {
  return requestJson<AgentList>(addressOf(threadId), { method: "POST", body: dump });
}

export async function endAgent(threadId: string, name: string): Promise<void> {
  await request(addressOf(threadId, name), { method: "DELETE" });
}

function hookAddressOf(threadId: string, name: string): string {
  return `/api/threads/${threadId}/hooks/${encodeURIComponent(name)}`;
}

export function listHooks(threadId: string): Promise<HookList> {
  return requestJson<HookList>(`/api/threads/${threadId}/hooks`);
}

/** Puts a hook in place of the one with its name, or behind all. */
export function putHook(threadId: string, name: string, hook: NewHook): Promise<Hook> {
  return requestJson<Hook>(hookAddressOf(threadId, name), { method: "PUT", body: hook });
}

export async function deleteHook(threadId: string, name: string): Promise<void> {
  await request(hookAddressOf(threadId, name), { method: "DELETE" });
}
