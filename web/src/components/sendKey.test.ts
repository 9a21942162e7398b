// Issue 53, fault 1: a second line can be written on every keyboard.

import { expect, it } from "vitest";
import { sendingOf } from "./sendKey";

const press = (keys: string, isComposing = false) => {
  const has = (key: string) => keys.split("+").includes(key);
  return { key: keys.split("+").at(-1)!, shiftKey: has("Shift"), ctrlKey: has("Ctrl"), metaKey: has("Meta"), isComposing };
};

it.each([
  ["Enter", "send", null],
  ["Shift+Enter", null, null],
  ["Ctrl+Enter", "now", "send"],
  ["Meta+Enter", "now", "send"],
  ["Ctrl+Shift+Enter", "now", "now"],
  ["a", null, null],
])("%s: %s where Enter sends, otherwise %s", (keys, sends, otherwise) => {
  expect([sendingOf(press(keys), true), sendingOf(press(keys), false)]).toEqual([sends, otherwise]);
  expect(sendingOf(press(keys, true), true)).toBe(null);
});
