// Memory: deleting memories, and the member of a message that allows them.

import { afterEach, expect, it, vi } from "vitest";
import { memory } from ".";
import { enableMemory } from "./enabled";
import { forget, forgetAll, memories } from "./memories";

const note = (id: string) => ({ id, content: `About ${id}`, created_at: 0, updated_at: 0 });

afterEach(() => vi.unstubAllGlobals());

it("reads memories page after page, forgets one, and all", async () => {
  const requests: string[] = [];
  vi.stubGlobal("fetch", async (url: string, { method }: RequestInit) => {
    requests.push(`${method} ${url}`);
    if (method === "DELETE") return new Response(null, { status: 204 });
    return Response.json({ memories: [note("a"), note("b")], next_cursor: "2" });
  });
  const ids = () => memories.store.get().items.map(({ id }) => id);
  await memories.load();
  await memories.more();
  await forget(note("a"));
  expect(ids()).toEqual(["b"]);
  await forgetAll();
  expect([ids(), memories.store.get().nextCursor]).toEqual([[], null]);
  expect(requests).toEqual([
    "GET /api/memories?limit=50",
    "GET /api/memories?limit=50&cursor=2",
    "DELETE /api/memories/a",
    "DELETE /api/memories",
  ]);
});

it("enables memory in a message only after the person has turned it on", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  expect(memory.request?.("T")).toEqual({});
  enableMemory(true);
  expect([memory.request?.("T"), kept.get("espalier.memory")]).toEqual([{ memory_enabled: true }, "on"]);
  enableMemory(false);
  expect([memory.request?.("T"), kept.size]).toEqual([{}, 0]);
});
