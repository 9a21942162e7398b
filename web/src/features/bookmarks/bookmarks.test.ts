// Bookmarks: those of the open chat are read once, and both lists know what was added and removed.

import { afterEach, expect, it, vi } from "vitest";
import { served } from "../../api/served.fixture";
import { add, all, follow, ofChat, remove } from "./bookmarks";

afterEach(() => vi.unstubAllGlobals());

const bookmark = (message_id: string) => ({ message_id, thread_id: "T", turn_id: "t", role: "assistant", excerpt: "It is 42.", created_at: 0 });
const refusal = Response.json.bind(null, { code: "too_many_bookmarks", detail: "delete some", title: "Full", status: 409 }, { status: 409 });

it("reads those of a chat page by page, adds one, and removes it", async () => {
  const { requests } = served((line) => {
    if (line.startsWith("PUT")) return Response.json(bookmark("c"));
    if (line.startsWith("DELETE")) return new Response(null, { status: 204 });
    const last = line.includes("cursor=2") || !line.includes("thread_id");
    return Response.json({ bookmarks: [bookmark(last ? "a" : "b")], next_cursor: last ? null : "2" });
  });
  const ids = () => [all, ofChat].map((list) => list.store.get().items.map(({ id }) => id));
  await all.load();
  await follow("T");
  await follow("T");
  expect(ids()).toEqual([["a"], ["b", "a"]]);
  expect(await add("T", "c")).toBeNull();
  expect(ids()).toEqual([["c", "a"], ["c", "b", "a"]]);
  expect(await remove("a")).toBeNull();
  expect(ids()).toEqual([["c"], ["c", "b"]]);
  expect(requests).toEqual([
    "GET /api/bookmarks?limit=50",
    "GET /api/bookmarks?limit=200&thread_id=T",
    "GET /api/bookmarks?limit=200&thread_id=T&cursor=2",
    "PUT /api/threads/T/bookmarks/c",
    "DELETE /api/bookmarks/a",
  ]);
});

it("reads those of a chat again where that failed, and asks no more meanwhile", async () => {
  const { requests } = served((line) => (line.includes("cursor") ? Promise.reject(new TypeError("no line")) : Response.json({ bookmarks: [bookmark("b")], next_cursor: "2" })));
  await follow("F");
  await follow("F");
  const [first, second] = ["GET /api/bookmarks?limit=200&thread_id=F", "GET /api/bookmarks?limit=200&thread_id=F&cursor=2"];
  expect(requests).toEqual([first, second, first, second]);
});

it("says why an answer was not bookmarked", async () => {
  served(() => refusal());
  expect(await add("T", "d")).toContain("delete some");
  served(() => Response.json({ code: "message_not_found", status: 404, detail: "no message" }, { status: 404 }));
  expect(await add("T", "d")).toContain("no longer exists");
});
