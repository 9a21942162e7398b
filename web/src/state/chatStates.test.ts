// Issue 53, fault 10: the list says which chat runs, waits, or has a new answer.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { chatStates, compareStates, loadChatStates, seeChat, stateOf, tellState } from "./chatStates";

const thread = (id: string, updated_at: number, state?: "running" | "waiting") => ({ id, title: id, created_at: 0, updated_at, ...(state && { state }) });
const shown = (each: ReturnType<typeof thread>, open = "") => stateOf(each, chatStates.get(), each.id === open);
const storage = new Map<string, string>();

beforeEach(() => {
  vi.useFakeTimers();
  storage.clear();
  vi.stubGlobal("localStorage", { getItem: (key: string) => storage.get(key) ?? null, setItem: (key: string, value: string) => storage.set(key, value), removeItem: (key: string) => storage.delete(key) });
  chatStates.forget();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("counts the chats of the first list as read, and later changes as new until the chat was open", () => {
  expect(compareStates([thread("a", 5), thread("b", 3)], null)).toBe(false);
  expect([shown(thread("a", 5)), shown(thread("b", 3))]).toEqual([null, null]);
  expect([shown(thread("b", 9)), shown(thread("b", 9), "b")]).toEqual(["unread", null]);
  compareStates([thread("b", 9)], "b");
  expect(shown(thread("b", 9))).toBeNull();
  chatStates.forget();
  loadChatStates();
  expect([shown(thread("b", 9)), shown(thread("b", 10))]).toEqual([null, "unread"]);
});

it("takes the word of a tab before that of the list, until the turn is over", () => {
  compareStates([thread("a", 5)], null);
  tellState("a", "running", 5);
  expect(shown(thread("a", 5))).toBe("running");
  tellState("a", "waiting", 5);
  expect(shown(thread("a", 5, "running"))).toBe("waiting");
  tellState("a", null, 5);
  expect(shown(thread("a", 5, "running"))).toBe("running");
});

it("lets a turn that was left end unseen, and asks for the list while a chat goes on", () => {
  compareStates([thread("a", 5)], null);
  tellState("a", "running", 5);
  expect(compareStates([thread("a", 5)], null)).toBe(true);
  expect(compareStates([thread("a", 8)], null)).toBe(false);
  expect(shown(thread("a", 8))).toBe("unread");
  tellState("a", "running", 8);
  vi.advanceTimersByTime(60_001);
  expect(compareStates([thread("a", 8)], "a")).toBe(false);
  expect(shown(thread("a", 8))).toBe("running");
  expect(compareStates([thread("a", 8, "waiting")], null)).toBe(true);
  expect(shown(thread("a", 8, "waiting"))).toBe("waiting");
});

it("keeps what was seen of 200 chats", () => {
  compareStates([thread("a", 1)], null);
  for (let at = 0; at <= 200; at += 1) seeChat(`c${at}`, 10);
  expect([Object.keys(chatStates.get().seen).length, shown(thread("c0", 10)), shown(thread("c200", 10))]).toEqual([200, "unread", null]);
});
