// Issue 53, fault 2: a title is not the raw message. The service has the same cases.

import { expect, it } from "vitest";
import cases from "../../../durable/wire/src/title_cases.json";
import { titleOf } from "./title";

it.each(cases as [string, string][])("%j", (message, title) => {
  expect(titleOf(message)).toBe(title);
});

it("has at most 80 characters", () => {
  expect(titleOf("ü".repeat(80))).toBe("ü".repeat(80));
  expect(titleOf("ü".repeat(81))).toBe("ü".repeat(80));
});
