// The page as a whole: what it shows at the end of a session.

import { afterEach, beforeEach, expect, it, vi } from "vitest";

// Each test loads the whole page anew.
vi.setConfig({ testTimeout: 30_000 });

const OUT = () => Response.json({ code: "unauthenticated", detail: "sign in with an API key" }, { status: 401 });

const gone: string[] = [];

beforeEach(async () => {
  gone.length = 0;
  const location = { href: "https://chat.example/", search: "", reload: () => gone.push("reload"), assign: (to: string) => gone.push(to) };
  vi.stubGlobal("window", Object.assign(new EventTarget(), { location }));
  vi.stubGlobal("document", new EventTarget());
  vi.stubGlobal("BroadcastChannel", EventTarget);
  vi.stubGlobal("fetch", async () => OUT());
  vi.resetModules();
});

async function opened() {
  const { listen, page, startPage } = await import("./page");
  listen();
  await startPage();
  return page;
}

it("leaves nothing of a user to another one who signs in after the page was loaded again", async () => {
  vi.doMock("../components/SignIn", () => ({ SignIn: () => null }));
  const kept = new Map([["espalier.left", "key:ada"], ["espalier.drafts", '{"new":"Half a thought"}']]);
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value), clear: () => kept.clear() };
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("localStorage", {});
  await opened();
  vi.stubGlobal("fetch", async () => Response.json({ user_id: "key:bob", expires_at: 1, scopes: [] }));
  const { signIn } = await import("./page");
  await signIn("espk_bob");
  expect([gone, kept.size]).toEqual([["/"], 0]);
});

afterEach(() => {
  vi.doUnmock("../components/SignIn");
  vi.unstubAllGlobals();
});

// Issue 53, fault 9
it("clears every store when another user has the session, and keeps the words that were written", async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => {}, clear: () => {} });
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  const users = ["key:ada", "key:bob"];
  vi.stubGlobal("fetch", async (path: string) => {
    if (path === "/api/session") return Response.json({ user_id: users.shift() ?? "key:bob", expires_at: 1, scopes: [] });
    if (path === "/api/collections") return OUT();
    return Response.json({ threads: users.length > 0 ? [{ id: "t", title: "Ada's", created_at: 1, updated_at: 1 }] : [], next_cursor: null });
  });
  const page = await opened();
  const { conversation, threads } = await import("./page");
  const { Store } = await import("./store");
  const { drafts, setDraft } = await import("./drafts");
  const { requestJson } = await import("../api/http");
  const panel = new Store<{ open: string | null }>({ open: null });
  panel.set({ open: "Ada's garden" });
  await vi.waitFor(() => expect(threads.store.get().threads).toHaveLength(1));
  conversation.store.set({ threadId: "t" });
  setDraft("t", "Half a thought");
  await requestJson("/api/collections").catch(() => {});
  await vi.waitFor(() => expect(page.get().user).toBe(1));
  expect([panel.get(), conversation.store.get().threadId, drafts.get()]).toEqual([{ open: null }, null, { new: "Half a thought" }]);
  expect([threads.store.get().threads, page.get().notice]).toEqual([[], "Your session expired. Earlier chats belong to it."]);
});

it("asks for a sign-in where the service needs one", async () => {
  vi.doMock("../components/SignIn", () => ({ SignIn: () => null }));
  const page = await opened();
  expect(page.get()).toMatchObject({ phase: "signedOut", problem: null });
});

it("offers to load the page again where the sign-in screen does not load", async () => {
  vi.doMock("../components/SignIn", () => {
    throw new Error("no such chunk");
  });
  const page = await opened();
  await vi.waitFor(() => expect(page.get().phase).toBe("failed"), { timeout: 20_000 });
  expect(page.get().problem?.words).toContain("could not be loaded");
  page.get().problem?.retry?.();
  expect(gone).toEqual(["reload"]);
});
