// Collections, their documents, and the chats that search them.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Refusal } from "../../api/http";
import { NEW_CHAT } from "../../state/drafts";
import { collections as feature } from ".";
import { chosen, chosenFor } from "./chosen";
import { accepted, Collections, MAX_AT_ONCE, MAX_DOCUMENT_BYTES } from "./collections";

const collection = (id: string, name = `Named ${id}`) => ({ id, name, description: "", documents: 0, bytes: 0, created_at: 0, updated_at: 0 });
const document = (id: string, name: string) => ({ id, name, media_type: "text/plain", bytes: 1, chunks: 1, created_at: 0 });
let requests: { line: string; type: string | undefined; body: unknown }[] = [];
let answer: (line: string) => Response;
const lines = () => requests.map(({ line }) => line);
const kept = new Map<string, string>();

beforeEach(() => {
  requests = [];
  kept.clear();
  vi.stubGlobal("localStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) });
  chosen.store.set({ byChat: {} });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const line = `${init.method} ${url}`;
    requests.push({ line, type: (init.headers as Record<string, string>)["content-type"], body: init.body });
    return answer(line);
  });
  answer = (line) => {
    if (line.startsWith("DELETE")) return new Response(null, { status: 204 });
    if (line === "POST /api/collections") return Response.json(collection("new", "Walls"), { status: 201 });
    if (line.startsWith("POST")) return Response.json(document(line, new URL(line.slice(5), "http://x").searchParams.get("name") ?? ""), { status: 201 });
    if (line.includes("/documents")) return Response.json({ documents: [document("d", "old.txt")], next_cursor: null });
    return Response.json({ collections: [collection("a"), collection("b")], next_cursor: null });
  };
});

afterEach(() => vi.unstubAllGlobals());

async function loaded() {
  const collections = new Collections();
  await collections.all.load();
  return { collections, ids: () => collections.all.store.get().items.map(({ id }) => id) };
}

it("creates a collection, and tells why the service refused one", async () => {
  const { collections, ids } = await loaded();
  expect(await collections.create(" Walls ", " ")).toBe(true);
  expect([ids(), requests.at(-1)?.body]).toEqual([["new", "a", "b"], '{"name":"Walls"}']);
  answer = () => Response.json({ code: "invalid_request", detail: "There are too many." }, { status: 400 });
  expect(await collections.create("More", "About it")).toBe(false);
  expect(requests.at(-1)?.body).toBe('{"name":"More","description":"About it"}');
  expect(collections.all.store.get().problem).toBe("There are too many.");
});

it("deletes a collection, which all chats then leave out", async () => {
  const { collections, ids } = await loaded();
  chosen.choose("T", [collection("a"), collection("b")]);
  collections.open(collection("a"));
  await collections.remove(collection("a"));
  expect([ids(), collections.shelf.get().open]).toEqual([["b"], null]);
  expect(chosenFor("T").map(({ id }) => id)).toEqual(["b"]);
});

it("sends documents with their media types, one after the other, and names those that were refused", async () => {
  const { collections } = await loaded();
  collections.open(collection("a"));
  const usual = answer;
  answer = (line) => (line.includes("bad.txt") ? Response.json({ detail: "It is not UTF-8." }, { status: 400 }) : usual(line));
  const file = (name: string, type = "", size = 1) => new File([new Uint8Array(size)], name, { type });
  requests = [];
  await collections.add([
    file("a b.MD"), file("page.htm"), file("notes", "text/plain"), file("x.PDF"), file("list.CSV", "application/vnd.ms-excel"), file("x.json"), file("x.zip", "application/zip"), file("none.txt", "", 0),
    file("bad.txt"), file("just.txt", "", MAX_DOCUMENT_BYTES), file("over.txt", "", MAX_DOCUMENT_BYTES + 1),
  ]);
  const posted = requests.filter(({ line }) => line.startsWith("POST"));
  expect(posted.map(({ line, type }) => [line, type])).toEqual([
    ["POST /api/collections/a/documents?name=a+b.MD", "text/markdown"],
    ["POST /api/collections/a/documents?name=page.htm", "text/html"],
    ["POST /api/collections/a/documents?name=notes", "text/plain"],
    ["POST /api/collections/a/documents?name=x.PDF", "application/pdf"],
    ["POST /api/collections/a/documents?name=list.CSV", "text/csv"],
    ["POST /api/collections/a/documents?name=x.json", "application/json"],
    ["POST /api/collections/a/documents?name=bad.txt", "text/plain"],
    ["POST /api/collections/a/documents?name=just.txt", "text/plain"],
  ]);
  expect(collections.shelf.get().refused).toEqual([
    "“x.zip” is not text, Markdown, HTML, CSV, JSON or PDF. Save it as one of these first.",
    "“none.txt” is empty.",
    "“bad.txt” was refused: It is not UTF-8.",
    "“over.txt” is too large: a document can have 1 MiB. Split it.",
  ]);
  expect(collections.shelf.get().sending).toBe(0);
  requests = [];
  await collections.add(Array.from({ length: MAX_AT_ONCE + 1 }, (_, index) => file(`f${index}.txt`)));
  expect(requests.length).toBe(MAX_AT_ONCE);
  expect(collections.shelf.get().refused).toEqual(["You can send 50 documents at once. The last 1 were left out."]);
});

it("takes PDFs only where the service reads them", async () => {
  const usual = answer;
  answer = (line) => (/GET .*collections(\?|$)/.test(line) ? Response.json({ collections: [collection("a")], next_cursor: null, reads_pdfs: false }) : usual(line));
  const { collections } = await loaded();
  collections.open(collection("a"));
  expect([accepted(true), accepted(false)]).toEqual([".txt,.md,.markdown,.html,.htm,.csv,.json,.pdf", ".txt,.md,.markdown,.html,.htm,.csv,.json"]);
  expect(collections.shelf.get().readsPdfs).toBe(false);
  requests = [];
  await collections.add([new File(["%PDF-"], "x.pdf")]);
  expect(requests).toEqual([]);
  expect(collections.shelf.get().refused).toEqual(["“x.pdf” is not text, Markdown, HTML, CSV or JSON. Save it as one of these first."]);
});

it("deletes a document", async () => {
  const { collections } = await loaded();
  collections.open(collection("a"));
  await vi.waitFor(() => expect(collections.documents.store.get().items.length).toBe(1));
  await collections.drop(document("d", "old.txt"));
  expect(lines().at(-1)).toBe("DELETE /api/collections/a/documents/d");
  expect(collections.documents.store.get().items).toEqual([]);
});

it("keeps the choice of each chat, and a new chat passes its choice on to its thread", () => {
  chosen.choose(NEW_CHAT, [collection("a")]);
  chosen.takeAlong("T");
  chosen.choose(NEW_CHAT, []);
  chosen.choose("U", [collection("b")]);
  chosen.store.set({ byChat: {} });
  chosen.load();
  expect([chosenFor("T"), chosenFor("U"), chosenFor(NEW_CHAT)].map((list) => list.map(({ id }) => id))).toEqual([["a"], ["b"], []]);
  kept.set("espalier.collections", "not JSON");
  chosen.load();
  kept.set("espalier.collections", "null");
  chosen.load();
  expect(chosenFor("T")).toEqual([]);
});

it("keeps the choices of the latest hundred chats", () => {
  for (let chat = 0; chat <= 100; chat += 1) chosen.choose(`c${chat}`, [collection("a")]);
  expect(Object.keys(chosen.store.get().byChat).length).toBe(100);
  expect([chosenFor("c0").length, chosenFor("c1").length, chosenFor("c100").length]).toEqual([0, 1, 1]);
});

it("names the chosen collections in a message, and leaves out one that the service no longer has", () => {
  expect(feature.request?.("T")).toEqual({});
  chosen.choose("T", [collection("a"), collection("b")]);
  expect(feature.request?.("T")).toEqual({ collections: ["a", "b"] });
  feature.refused?.("T", new Refusal(404, "other_code", "No.", "collections[0]"));
  feature.refused?.("T", new Refusal(404, "collection_not_found", "There is none.", "collections[1]"));
  expect(feature.request?.("T")).toEqual({ collections: ["a"] });
});
