// The groups of the list of chats.

import { expect, it, vi } from "vitest";
import { byDay } from "./days";

const NOW = new Date(2026, 10, 23, 9, 30).getTime();
const at = (...when: [number, number, number, number?, number?]) => {
  const updated_at = new Date(...when).getTime();
  return { id: String(updated_at), title: "", created_at: 0, updated_at };
};

it("names today, yesterday, the last week and month, and months", () => {
  const threads = [
    at(2026, 10, 24, 0, 0), at(2026, 10, 23, 9, 0), at(2026, 10, 23, 0, 0), at(2026, 10, 22, 23, 59), at(2026, 10, 22, 0, 0), at(2026, 10, 21, 23, 59),
    at(2026, 10, 16, 12), at(2026, 10, 15, 12), at(2026, 9, 24, 12), at(2026, 9, 20), at(2026, 9, 2), at(2025, 9, 2),
  ];
  expect(byDay(threads, NOW).map(({ label, threads }) => [label, threads.length])).toEqual([
    ["Today", 3], ["Yesterday", 2], ["Previous 7 days", 2], ["Previous 30 days", 2], ["October 2026", 2], ["October 2025", 1],
  ]);
});

it("knows yesterday after a day of 25 hours", () => {
  vi.stubEnv("TZ", "Europe/Berlin");
  const [now, first, before] = [new Date(2026, 9, 26, 9), new Date(2026, 9, 25, 0, 10), new Date(2026, 9, 24, 23, 50)];
  const threads = [first, before].map((date) => ({ id: String(date), title: "", created_at: 0, updated_at: date.getTime() }));
  expect(byDay(threads, now.getTime()).map(({ label }) => label)).toEqual(["Yesterday", "Previous 7 days"]);
  vi.unstubAllEnvs();
});

it("has the pinned chats in a group of their own", () => {
  const threads = [{ ...at(2025, 9, 2), pinned_at: 1 }, at(2026, 10, 23, 9, 0)];
  expect(byDay(threads, NOW).map(({ label }) => label)).toEqual(["Pinned", "Today"]);
});

it("has no group without a chat", () => expect(byDay([], NOW)).toEqual([]));
