// Lists in pages: an item that the service deleted leaves the list.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { request, requestJson } from "../api/http";
import { Paged } from "./paged";

const note = (id: string) => ({ id });
let requests: string[] = [];
let answer: (line: string) => Response | Promise<Response>;
const pages: Record<string, unknown> = {
  "GET /notes?": { items: [note("a"), note("b")], next_cursor: "2" },
  "GET /notes?2": { items: [note("b"), note("c")], next_cursor: null },
};
const notes = new Paged<{ id: string }>((cursor) => requestJson(`/notes?${cursor ?? ""}`));
const deleting = (path: string) => async () => void (await request(path, { method: "DELETE" }));
const remove = (id: string) => notes.remove(id, deleting(`/notes/${id}`));
const clear = () => notes.clear(deleting("/notes"));
const ids = () => notes.store.get().items.map(({ id }) => id);

beforeEach(async () => {
  vi.stubGlobal("fetch", async (url: string, { method }: RequestInit) => {
    requests.push(`${method} ${url}`);
    return answer(`${method} ${url}`);
  });
  answer = (line) => Response.json(pages[line]);
  notes.forget();
  await notes.load();
  requests = [];
  answer = (line) => (pages[line] ? Response.json(pages[line]) : new Response(null, { status: 204 }));
});

afterEach(() => vi.unstubAllGlobals());

it("comes page after page, each item once", async () => {
  expect([ids(), notes.store.get().phase]).toEqual([["a", "b"], "ready"]);
  await notes.more();
  await notes.more();
  expect([ids(), requests]).toEqual([["a", "b", "c"], ["GET /notes?2"]]);
});

it("deletes one item, and all", async () => {
  await remove("a");
  expect(ids()).toEqual(["b"]);
  await clear();
  expect([ids(), notes.store.get().nextCursor]).toEqual([[], null]);
  expect(requests).toEqual(["DELETE /notes/a", "DELETE /notes"]);
});

it("drops an item that was gone already, and keeps one that could not be deleted", async () => {
  answer = () => Response.json({ code: "note_not_found", detail: "Gone." }, { status: 404 });
  await remove("a");
  expect([ids(), notes.store.get().problem]).toEqual([["b"], null]);
  answer = () => Response.json({ code: "internal", detail: "Not now." }, { status: 500 });
  await remove("b");
  expect([ids(), notes.store.get().problem]).toEqual([["b"], "Something went wrong on the server. Try again in a moment."]);
  answer = () => Response.json({ code: "route_not_found", detail: "No such route." }, { status: 404 });
  await clear();
  expect([ids(), notes.store.get().problem]).toEqual([["b"], "No such route."]);
});

it("reads a page again that was requested before a deletion", async () => {
  const late: ((list: Response) => void)[] = [];
  answer = (line) => (line.startsWith("GET") ? new Promise<Response>((resolve) => late.push(resolve)) : new Response(null, { status: 204 }));
  const reading = notes.load();
  await remove("a");
  late[0]?.(Response.json({ items: [note("a"), note("b")], next_cursor: null }));
  await vi.waitFor(() => expect(late.length).toBe(2));
  expect(ids()).toEqual(["b"]);
  late[1]?.(Response.json({ items: [note("b")], next_cursor: null }));
  await reading;
  expect(ids()).toEqual(["b"]);
});

it("drops an answer to an earlier reading", async () => {
  let late = (_: Response) => {};
  answer = () => new Promise<Response>((resolve) => (late = resolve));
  const reading = notes.more();
  notes.forget();
  late(Response.json({ items: [note("z")], next_cursor: null }));
  await reading;
  expect([ids(), notes.store.get().phase]).toEqual([[], "unread"]);
});
