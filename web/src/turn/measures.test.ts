import { expect, it } from "vitest";
import { agoText, bytesText } from "./measures";

it("writes sizes in rounded units", () => {
  const said = [0, 999, 1000, 1234, 9_960, 12_400, 999_499, 999_500, 1_048_576, 52_428_800].map(bytesText);
  expect(said).toEqual(["0 B", "999 B", "1 kB", "1.2 kB", "10 kB", "12 kB", "999 kB", "1 MB", "1 MB", "52 MB"]);
});

it("tells a time as an age, and after a week as a date", () => {
  const now = Date.UTC(2026, 10, 22, 12);
  const said = [0, 59, 60, 3_599, 7_200, 86_400, 6 * 86_400, 7 * 86_400].map((seconds) => agoText(now - seconds * 1000, now));
  expect(said).toEqual(["just now", "just now", "1 minute ago", "59 minutes ago", "2 hours ago", "yesterday", "6 days ago", "Nov 15, 2026"]);
  // Clocks differ.
  expect(agoText(now + 5_000, now)).toBe("just now");
});
