// The routes of memories.

import { request, requestJson } from "../../api/http";
import type { MemoryList } from "../../wire.generated";

export function listMemories(cursor: string | null): Promise<MemoryList> {
  const query = new URLSearchParams({ limit: "50" });
  if (cursor !== null) query.set("cursor", cursor);
  return requestJson<MemoryList>(`/api/memories?${query}`);
}

export async function forgetMemory(id: string): Promise<void> {
  await request(`/api/memories/${encodeURIComponent(id)}`, { method: "DELETE" });
}

export async function forgetAllMemories(): Promise<void> {
  await request("/api/memories", { method: "DELETE" });
}
