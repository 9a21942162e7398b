// The list of chats: a deletion can be undone for a moment, and the latest search wins.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Threads, UNDO_MS } from "./threads";

const thread = (id: string, updated_at: number) => ({ id, title: `Title ${id}`, created_at: 0, updated_at });
let requests: string[] = [];
let answer: (url: string, method: string) => Response | Promise<Response>;

beforeEach(() => {
  requests = [];
  vi.useFakeTimers();
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    requests.push(`${init.method} ${url}`);
    return answer(url, init.method ?? "GET");
  });
  answer = (url) =>
    url.includes("q=") ? Response.json({ threads: [thread("b", 1)], next_cursor: null }) : Response.json({ threads: [thread("a", 2), thread("b", 1)], next_cursor: null });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function loaded() {
  const threads = new Threads();
  await threads.load();
  requests = [];
  return { threads, ids: () => threads.store.get().threads.map(({ id }) => id) };
}

it("deletes a chat in the service after the time to undo", async () => {
  const { threads, ids } = await loaded();
  answer = () => new Response(null, { status: 204 });
  threads.remove("a");
  expect([ids(), requests]).toEqual([["b"], []]);
  await vi.advanceTimersByTimeAsync(UNDO_MS);
  expect(requests).toEqual(["DELETE /api/threads/a"]);
  expect(threads.store.get().leaving).toBeNull();
});

it("brings back the chat that was deleted last", async () => {
  const { threads, ids } = await loaded();
  answer = () => new Response(null, { status: 204 });
  threads.remove("a");
  threads.remove("b");
  expect(requests).toEqual(["DELETE /api/threads/a"]);
  expect(threads.undo()?.id).toBe("b");
  await vi.advanceTimersByTimeAsync(2 * UNDO_MS);
  expect([ids(), requests]).toEqual([["b"], ["DELETE /api/threads/a"]]);
});

it("shows a chat again that the service did not delete, with the reason", async () => {
  const { threads, ids } = await loaded();
  answer = () => Response.json({ detail: "Not now." }, { status: 503 });
  threads.remove("a");
  await vi.advanceTimersByTimeAsync(UNDO_MS);
  expect([ids(), threads.store.get().problem]).toEqual([["a", "b"], "Not now."]);
});

it("restores a name if the service refuses the new one", async () => {
  const { threads } = await loaded();
  answer = () => Response.json({ detail: "Too long." }, { status: 400 });
  const renaming = threads.rename("a", "New");
  expect(threads.store.get().threads[0]?.title).toBe("New");
  await renaming;
  expect(threads.store.get().threads[0]?.title).toBe("Title a");
  expect(threads.store.get().problem).toBe("Too long.");
});

it("restores the name of a chat that the search alone has found", async () => {
  const { threads } = await loaded();
  threads.store.set({ found: [thread("old", 0)] });
  answer = () => Response.json({ detail: "Too long." }, { status: 400 });
  await threads.rename("old", "New");
  expect(threads.store.get().found?.[0]?.title).toBe("Title old");
});

it("reads the list again that was requested before a rename", async () => {
  const { threads } = await loaded();
  const late: ((response: Response) => void)[] = [];
  answer = (_, method) => (method === "PATCH" ? Response.json({ ...thread("a", 2), title: "New" }) : new Promise<Response>((resolve) => late.push(resolve)));
  const loading = threads.load();
  await threads.rename("a", "New");
  late[0]!(Response.json({ threads: [thread("a", 2)], next_cursor: null }));
  await vi.waitFor(() => expect(late.length).toBe(2));
  expect(threads.store.get().threads[0]?.title).toBe("New");
  late[1]!(Response.json({ threads: [{ ...thread("a", 2), title: "New" }], next_cursor: null }));
  await loading;
  expect(threads.store.get().threads[0]?.title).toBe("New");
});

it("searches once for fast typing, and drops late answers", async () => {
  const { threads } = await loaded();
  threads.look("p");
  threads.look("pea");
  threads.look("pear ");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(requests).toEqual(["GET /api/threads?limit=50&q=pear"]);
  expect(threads.store.get().found?.map(({ id }) => id)).toEqual(["b"]);
  let late = (_: Response) => {};
  answer = () => new Promise<Response>((resolve) => (late = resolve));
  threads.look("x");
  await vi.advanceTimersByTimeAsync(1_000);
  threads.look("");
  late(Response.json({ threads: [thread("z", 1)], next_cursor: null }));
  await vi.advanceTimersByTimeAsync(0);
  expect(threads.store.get().found).toBeNull();
});

// Issue 19, item 13.
it("puts a pinned chat above the others at once, and takes the pin back if the service refuses", async () => {
  const { threads, ids } = await loaded();
  answer = () => Response.json(thread("b", 1));
  await threads.pin(threads.store.get().threads[1]!);
  expect([ids(), requests]).toEqual([["b", "a"], ["PATCH /api/threads/b"]]);
  threads.touch("a", "");
  expect(ids()).toEqual(["b", "a"]);
  answer = () => Response.json({ code: "too_many_pins" }, { status: 409 });
  const pinning = threads.pin(threads.store.get().threads[1]!);
  expect(ids()).toEqual(["a", "b"]);
  await pinning;
  expect([ids(), threads.store.get().problem]).toEqual([["b", "a"], "20 chats are pinned already. Unpin one first."]);
  answer = () => Response.json(thread("b", 1));
  await threads.pin(threads.store.get().threads[0]!);
  expect(ids()).toEqual(["a", "b"]);
});

it("reads the list again that was requested before a pin, and keeps older pages below pinned chats", async () => {
  const { threads, ids } = await loaded();
  const late: ((response: Response) => void)[] = [];
  answer = (_, method) => (method === "PATCH" ? Response.json({}) : new Promise<Response>((resolve) => late.push(resolve)));
  const loading = threads.load();
  await threads.pin(threads.store.get().threads[1]!);
  late[0]!(Response.json({ threads: [thread("a", 2), thread("b", 1)], next_cursor: null }));
  await vi.waitFor(() => expect(late.length).toBe(2));
  expect(ids()).toEqual(["b", "a"]);
  late[1]!(Response.json({ threads: [{ ...thread("b", 1), pinned_at: 5 }, thread("c", 9)], next_cursor: "more" }));
  await loading;
  // "a" is older than the first page, and "b" stands there once.
  expect(ids()).toEqual(["b", "c", "a"]);
});
