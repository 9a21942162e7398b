// Text that was typed before the script came is kept, and the drafts of an earlier visit come back.

import { afterEach, expect, it, vi } from "vitest";
import { draftFiles, drafts, loadDrafts, NEW_CHAT } from "./drafts";

afterEach(() => vi.unstubAllGlobals());

it("begins with the kept drafts, and with the text in the box", () => {
  const kept = new Map([["espalier.drafts", '{"a":"later","new":"old words"}'], ["espalier.draft-files", "not JSON"]]);
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) });
  loadDrafts("  ");
  expect(drafts.get()).toEqual({ a: "later", [NEW_CHAT]: "old words" });
  expect(draftFiles.get()).toEqual({});
  loadDrafts("typed early");
  expect(drafts.get()).toEqual({ a: "later", [NEW_CHAT]: "typed early" });
  expect(JSON.parse(kept.get("espalier.drafts") ?? "")).toMatchObject({ [NEW_CHAT]: "typed early" });
  // The first screen was drawn without drafts.
  expect(drafts.first()).toEqual({});
});
