// The sentence that tells what a call will do, and the time left to decide.

import { describe, expect, it } from "vitest";
import { effectOf, timeLeft } from "./approval";

const effect = (permissionClass: string, args: Record<string, unknown> = {}, name = "tool", facts: { readOnly?: boolean; byClient?: boolean } = {}) =>
  effectOf({ id: "a", name, args, permissionClass, readOnly: false, byClient: false, ...facts, form: null, expiresAt: 0, decision: null });

describe("the effect of a call", () => {
  it("names the host, the path or the server", () => {
    expect(effect("network", { method: "GET", url: "https://example.com:8443/a" })).toBe("It will send a request to example.com:8443.");
    expect(effect("network", { url: "https://bücher.example/" })).toBe("It will send a request to xn--bcher-kva.example.");
    expect(effect("workspace_write", { path: "notes/plan.md" })).toBe("It will change the file “notes/plan.md” of this chat.");
    expect(effect("network", {}, "mcp__mail__send__now")).toBe("It will run “send__now” on the server “mail”.");
  });

  it("tells reading from writing, and the reader's own app from the service", () => {
    const reads = { readOnly: true };
    expect(effect("workspace_write", { path: "a.md" }, "read_file", reads)).toBe("It will read the file “a.md” of this chat and change nothing.");
    expect(effect("workspace_write", {}, "list_files", reads)).toBe("It will read files of this chat and change nothing.");
    expect(effect("knowledge", {}, "recall", reads)).toContain("change nothing");
    expect(effect("network", {}, "mcp__mail__list", reads)).toContain("says that this only reads");
    expect(effect("editor_mutate", {}, "ui_paste", { byClient: true })).toContain("the app that you have connected");
  });

  it("says so for each class, and for one that this page does not know", () => {
    const classes = ["safe", "knowledge", "network", "workspace_write", "editor_mutate", "subagent", "secrets", "media", "later"];
    const sentences = classes.map((each) => effect(each, { url: 5, path: "" }));
    expect(new Set(sentences).size).toBe(classes.length);
    for (const sentence of sentences) expect(sentence).toMatch(/^It .+\.$/);
  });

  it("writes invisible characters out", () => {
    expect(effect("workspace_write", { path: "a\u202etxt.exe" })).toContain("a\\u{202e}txt.exe");
    expect(effect("safe", {}, "mcp__a\u200b__b")).toContain("a\\u{200b}");
  });
});

it("counts the time left in its largest unit", () => {
  const left = (ms: number) => timeLeft(1_000_000_000 + ms, 1_000_000_000);
  expect([3 * 86_400_000, 90 * 60_000, 61_000, 59_999, 0, -5].map(left)).toEqual([
    "3 days left to decide.", "1 hour left to decide.", "1 minute left to decide.", "59 seconds left to decide.", "0 seconds left to decide.", "0 seconds left to decide.",
  ]);
});
