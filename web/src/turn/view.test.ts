// Issue 53, fault 3: the words with which a person denied a call.

import { expect, it } from "vitest";
import { reasonOf } from "./view";

it("finds the reason in the result of a denied call", () => {
  const result = (said: string) => ({ result: `The user did not allow this call.${said}` });
  expect(reasonOf(result(" Why:\n<reason_of_the_user>\nUse the \\u003cother> one.\nNow.\n</reason_of_the_user>"))).toBe("Use the <other> one.\nNow.");
  expect([reasonOf(result("")), reasonOf({ result: null })]).toEqual([null, null]);
});
