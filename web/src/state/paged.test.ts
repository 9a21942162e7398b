// Lists in pages, by the memories: what is deleted is gone here once it is gone there.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { forget, forgetAll, memories } from "./memories";

const memory = (id: string) => ({ id, content: `About ${id}`, created_at: 0, updated_at: 0 });
let requests: string[] = [];
let answer: (line: string) => Response | Promise<Response>;
const pages: Record<string, unknown> = {
  "GET /api/memories?limit=50": { memories: [memory("a"), memory("b")], next_cursor: "2" },
  "GET /api/memories?limit=50&cursor=2": { memories: [memory("b"), memory("c")], next_cursor: null },
};
const ids = () => memories.store.get().items.map(({ id }) => id);

beforeEach(async () => {
  vi.stubGlobal("fetch", async (url: string, { method }: RequestInit) => {
    requests.push(`${method} ${url}`);
    return answer(`${method} ${url}`);
  });
  answer = (line) => Response.json(pages[line]);
  memories.forget();
  await memories.load();
  requests = [];
  answer = (line) => (pages[line] ? Response.json(pages[line]) : new Response(null, { status: 204 }));
});

afterEach(() => vi.unstubAllGlobals());

it("comes page after page, and shows nothing twice", async () => {
  expect([ids(), memories.store.get().phase]).toEqual([["a", "b"], "ready"]);
  await memories.more();
  await memories.more();
  expect([ids(), requests]).toEqual([["a", "b", "c"], ["GET /api/memories?limit=50&cursor=2"]]);
});

it("forgets one, and all", async () => {
  await forget(memory("a"));
  expect(ids()).toEqual(["b"]);
  await forgetAll();
  expect([ids(), memories.store.get().nextCursor]).toEqual([[], null]);
  expect(requests).toEqual(["DELETE /api/memories/a", "DELETE /api/memories"]);
});

it("takes what is gone already for deleted, and keeps what could not be deleted", async () => {
  answer = () => Response.json({ code: "memory_not_found", detail: "Gone." }, { status: 404 });
  await forget(memory("a"));
  expect([ids(), memories.store.get().problem]).toEqual([["b"], null]);
  answer = () => Response.json({ code: "internal", detail: "Not now." }, { status: 500 });
  await forget(memory("b"));
  expect([ids(), memories.store.get().problem]).toEqual([["b"], "Not now."]);
  answer = () => Response.json({ code: "route_not_found", detail: "No such route." }, { status: 404 });
  await forgetAll();
  expect([ids(), memories.store.get().problem]).toEqual([["b"], "No such route."]);
});

it("reads a page again that was asked for before something was deleted", async () => {
  const late: ((list: Response) => void)[] = [];
  answer = (line) => (line.startsWith("GET") ? new Promise<Response>((resolve) => late.push(resolve)) : new Response(null, { status: 204 }));
  const reading = memories.load();
  await forget(memory("a"));
  late[0]?.(Response.json({ memories: [memory("a"), memory("b")], next_cursor: null }));
  await vi.waitFor(() => expect(late.length).toBe(2));
  expect(ids()).toEqual(["b"]);
  late[1]?.(Response.json({ memories: [memory("b")], next_cursor: null }));
  await reading;
  expect(ids()).toEqual(["b"]);
});

it("lets no answer in that was asked for an earlier list", async () => {
  let late = (_: Response) => {};
  answer = () => new Promise<Response>((resolve) => (late = resolve));
  const reading = memories.more();
  memories.forget();
  late(Response.json({ memories: [memory("z")], next_cursor: null }));
  await reading;
  expect([ids(), memories.store.get().phase]).toEqual([[], "unread"]);
});
