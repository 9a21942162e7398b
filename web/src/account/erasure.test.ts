// The page while all data of its person is erased: the session is over, and the progress stays in sight.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { served } from "../api/served.fixture";

// Each test loads the whole page anew.
vi.setConfig({ testTimeout: 30_000 });

const heard: unknown[] = [];
const gone: string[] = [];

beforeEach(() => {
  heard.length = 0;
  gone.length = 0;
  const location = { href: "https://chat.example/", pathname: "/", search: "", assign: (to: string) => gone.push(to) };
  vi.stubGlobal("location", location);
  vi.stubGlobal("window", Object.assign(new EventTarget(), { location, history: { pushState: () => {} } }));
  vi.stubGlobal("document", Object.assign(new EventTarget(), { visibilityState: "visible" }));
  vi.stubGlobal("BroadcastChannel", class extends EventTarget {
    postMessage = (news: unknown) => heard.push(news);
  });
  vi.useFakeTimers();
  vi.resetModules();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("asks for the progress alone, and tells the other tabs", async () => {
  const { requests } = served((line) =>
    line.startsWith("DELETE") ? Response.json({ receipt: "r", ended_at: null, removed: {} }, { status: 202 }) : Response.json({ ended_at: 1, removed: { threads: 2 } }),
  );
  const { conversation, listen, page, threads } = await import("../state/page");
  const { eraseAll, erasing } = await import("./erasure");
  listen();
  page.set({ phase: "ready" });
  threads.touch("T", "Roses");
  conversation.store.set({ threadId: "T", phase: "ready" });
  await eraseAll();
  document.dispatchEvent(new Event("visibilitychange"));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(requests).toEqual(["DELETE /api/me", "GET /api/me/erasure?receipt=r"]);
  expect(erasing.get()).toEqual({ state: "done", removed: 2, error: null });
  expect([threads.store.get().threads, conversation.store.get().threadId, heard]).toEqual([[], null, [{ what: "signed_out" }]]);
});

it("begins anew also where the browser forbids storage", async () => {
  const { beginAnew } = await import("./erasure");
  vi.stubGlobal("localStorage", { clear: () => { throw new Error("forbidden"); } });
  beginAnew();
  expect(gone).toEqual(["/"]);
});
