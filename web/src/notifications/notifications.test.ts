// Issue 19, item 5.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keep } from "../state/kept";
import { notifications, notify, readWanted, seen, want } from "./notifications";

const shown: { title: string; body: string; tag: string; onclick?: () => void; close: () => void }[] = [];
const browser = { permission: "default", asked: 0, answer: "granted" };
const page = { visibilityState: "hidden" };

beforeEach(() => {
  shown.length = 0;
  Object.assign(browser, { permission: "default", asked: 0, answer: "granted" });
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  vi.stubGlobal("document", page);
  vi.stubGlobal("window", { focus: () => {} });
  class Shown {
    static get permission() {
      return browser.permission;
    }
    static async requestPermission() {
      browser.asked += 1;
      browser.permission = browser.answer;
    }
    constructor(title: string, { body, tag }: { body: string; tag: string }) {
      shown.push(Object.assign(this, { title, body, tag, close: () => {} }));
    }
  }
  vi.stubGlobal("Notification", Shown);
  page.visibilityState = "hidden";
  seen();
});
afterEach(() => vi.unstubAllGlobals());

const tell = (turnId = "r") => notify(turnId, "Sums", "ended", () => {});

it("asks the browser at the person's click alone", async () => {
  readWanted();
  tell();
  expect([browser.asked, shown.length, notifications.get().wanted]).toEqual([0, 0, "off"]);
  await want(true);
  expect([browser.asked, notifications.get().wanted]).toEqual([1, "on"]);
  await want(false);
  await want(true);
  expect(browser.asked).toBe(1);
  tell();
  expect(shown).toMatchObject([{ title: "Sums", tag: "r" }]);
});

it("tells that the browser forbids notifications", async () => {
  browser.answer = "denied";
  await want(true);
  expect(notifications.get().wanted).toBe("blocked");
  tell();
  expect(shown).toEqual([]);
});

it("tells of a turn once while the page is hidden, and of none while it is seen", async () => {
  await want(true);
  tell();
  tell();
  tell("s");
  expect(shown.map(({ tag }) => tag)).toEqual(["r", "s"]);
  page.visibilityState = "visible";
  tell("t");
  expect(shown.length).toBe(2);
  seen();
  page.visibilityState = "hidden";
  tell();
  expect(shown.length).toBe(3);
});

it("shows the chat at a click", async () => {
  await want(true);
  const acts: string[] = [];
  vi.stubGlobal("window", { focus: () => acts.push("focus") });
  notify("r", "Sums", "waits", () => acts.push("chat"));
  shown[0]!.onclick!();
  expect(acts).toEqual(["focus", "chat"]);
});

it("a browser that refuses to show them turns them off", async () => {
  await want(true);
  vi.stubGlobal("Notification", Object.assign(function () { throw new TypeError("Illegal constructor"); }, { permission: "granted" }));
  tell();
  readWanted();
  expect(notifications.get().wanted).toBe("off");
  keep("espalier.notifications", null);
});
