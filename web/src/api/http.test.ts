// The session of the page: its renewal, its end, and a change of the user.

import { afterEach, beforeEach, expect, it, vi } from "vitest";

const session = (user_id: string) => ({ user_id, expires_at: 1, scopes: ["read"], key: { prefix: "0a1b", name: "laptop" } });
const OUT = () => Response.json({ code: "unauthenticated", detail: "sign in with an API key" }, { status: 401 });

let http: typeof import("./http");
let requests: string[] = [];
let answers: Response[] = [];
let told: string[] = [];

beforeEach(async () => {
  [requests, answers, told] = [[], [], []];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    requests.push(`${init.method} ${url} ${init.body ?? ""}`.trim());
    return answers.shift();
  });
  // The module itself remembers the user.
  vi.resetModules();
  http = await import("./http");
  http.whenSignedOut(() => told.push("signed out"));
  http.whenUserChanges(({ user_id }) => told.push(`another user: ${user_id}`));
});

afterEach(() => {
  vi.unstubAllGlobals();
});

it("tells once that a session needs a key, and passes the refusal on", async () => {
  answers = [OUT(), OUT()];
  await expect(http.requestJson("/api/threads")).rejects.toMatchObject({ status: 401 });
  expect(requests).toEqual(["GET /api/threads", "POST /api/session {}"]);
  expect(told).toEqual(["signed out"]);
});

it("ends no session while the service cannot tell whether it is over", async () => {
  answers = [OUT(), Response.json({ code: "issuer_unavailable", detail: "try again in a moment" }, { status: 503 })];
  await expect(http.requestJson("/api/threads")).rejects.toMatchObject({ status: 503 });
  expect(told).toEqual([]);
});

it("renews the session by itself where it can", async () => {
  answers = [OUT(), Response.json(session("a")), Response.json({ threads: [] })];
  await expect(http.requestJson("/api/threads")).resolves.toEqual({ threads: [] });
  expect(told).toEqual([]);
});

it("repeats no request as another user", async () => {
  answers = [Response.json(session("a"))];
  await http.openSession();
  answers = [OUT(), OUT(), Response.json(session("b"))];
  const [erasing, reading] = [http.requestJson("/api/me", { method: "DELETE" }), http.requestJson("/api/threads")];
  await expect(erasing).rejects.toMatchObject({ status: 401 });
  await expect(reading).rejects.toMatchObject({ status: 401 });
  expect(requests.slice(1)).toEqual(["DELETE /api/me", "GET /api/threads", "POST /api/session {}"]);
  expect(told).toEqual(["another user: b"]);
  // The new user's own requests are renewed as before.
  answers = [OUT(), Response.json(session("b")), Response.json({ threads: [] })];
  await expect(http.requestJson("/api/threads")).resolves.toEqual({ threads: [] });
});

it("exchanges a key, also for a session of another user", async () => {
  answers = [Response.json(session("key:ada")), Response.json(session("key:bob")), Response.json(session("key:bob"))];
  await http.openSession();
  await http.exchangeKey("espk_1");
  await expect(http.openSession()).resolves.toMatchObject({ user_id: "key:bob" });
  expect(requests.slice(1)).toEqual(['POST /api/session {"key":"espk_1"}', "POST /api/session {}"]);
  // The screen for signing in is there already.
  answers = [OUT()];
  await expect(http.exchangeKey("espk_3")).rejects.toMatchObject({ status: 401 });
  expect(told).toEqual([]);
});

it("ends the session in the service", async () => {
  answers = [new Response(null, { status: 204 })];
  await http.closeSession();
  expect(requests).toEqual(["DELETE /api/session"]);
});
