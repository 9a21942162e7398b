import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { leaveFor } from "./leaving";
import { endOfSignIn } from "./providers";

/** The function as a page has it that was loaded again. */
async function loaded() {
  vi.resetModules();
  return (await import("./providers")).isOtherUser;
}

const kept = new Map<string, string>();
const gone: string[] = [];
const asked: unknown[] = [];
const visitor = "0190a0a0-0000-7000-8000-000000000001";

function at(address: string): void {
  const url = new URL(address, "https://chat.example");
  vi.stubGlobal("window", {
    location: { href: url.href, pathname: url.pathname, search: url.search, assign: (to: string) => gone.push(to) },
    history: { replaceState: (_state: unknown, _title: string, to: string) => at(to) },
  });
}

beforeEach(() => {
  kept.clear();
  gone.length = 0;
  asked.length = 0;
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    asked.push([path, JSON.parse(String(init.body))]);
    return Promise.resolve(new Response(JSON.stringify({ location: "https://id.example/authorize?x" })));
  });
});

afterEach(() => vi.unstubAllGlobals());

it("leaves for the provider, and comes back to the same chat; a visitor's chats stay behind", async () => {
  at("/?thread=x");
  await leaveFor("acme", "acme:ada");
  await leaveFor("acme", null);
  await leaveFor("a/b", visitor);
  expect(asked).toEqual([
    ["/api/oidc/acme", { return_to: "/?thread=x" }],
    ["/api/oidc/acme", { return_to: "/?thread=x" }],
    ["/api/oidc/a%2Fb", { return_to: "/" }],
  ]);
  expect(gone).toEqual(Array(3).fill("https://id.example/authorize?x"));
});

it("knows another user from the one who was here, once", async () => {
  for (const [left, now, other] of [["acme:ada", "acme:bob", true], ["acme:ada", "acme:ada", false], [visitor, "acme:ada", false]] as const) {
    kept.set("espalier.left", left);
    expect((await loaded())(now), `${left} ${now}`).toBe(other);
    expect((await loaded())(now), "a second time").toBe(false);
    expect((await loaded())("key:eve"), "the next one").toBe(true);
  }
});

it("takes nothing from a user whose session ended, and who is a visitor meanwhile", async () => {
  for (const user of ["key:ada", visitor, "key:ada", visitor]) expect((await loaded())(user), user).toBe(false);
  expect((await loaded())("key:bob")).toBe(true);
});

it("knows another user where the browser shows the page of the one before again", async () => {
  const ofAda = await loaded();
  ofAda("key:ada");
  (await loaded())("key:bob");
  expect(ofAda("key:bob")).toBe(true);
});

it("knows another user also where the browser forbids storage", async () => {
  vi.stubGlobal("sessionStorage", undefined);
  const isOtherUser = await loaded();
  isOtherUser("key:ada");
  expect([isOtherUser("key:ada"), isOtherUser("key:bob")]).toEqual([false, true]);
});

it("tells why a sign-in failed, and takes it out of the address", () => {
  at("/?thread=x&sign_in=denied");
  expect(endOfSignIn()).toContain("cancelled");
  expect(window.location.search).toBe("?thread=x");
  expect(endOfSignIn()).toBe(null);
  at("/?sign_in=constructor");
  expect(endOfSignIn()).toContain("failed");
});
