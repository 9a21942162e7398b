// A chat as Markdown.

import { describe, expect, it } from "vitest";
import type { StoredMessage, ThreadDetail } from "../wire";
import { markdownOf } from "./export";

const thread = { id: "t", title: "A  trip" } as ThreadDetail;
const common = { turn_id: "t", created_at: 0 };
const answer: StoredMessage = {
  ...common,
  id: "a",
  role: "assistant",
  content: "First I look.\n\nIt is far.",
  stop: { code: "cancelled", message: "It was cancelled." },
  execution_tree: {
    version: 1,
    nodes: [
      { id: "look", parent_id: null, name: "run_subtask", title: "Look", result_preview: "50\nkm", duration_ms: 1 },
      { id: "add", parent_id: "look", name: "calculate", result_preview: "no", is_error: true, duration_ms: 1 },
    ],
  },
};

describe("a chat as Markdown", () => {
  it("has text, reasoning and calls in the order in which one saw them", () => {
    const parts: StoredMessage["parts"] = [
      { type: "summary", text: "They met." },
      { type: "summary" },
      { type: "reasoning", text: "Far?\nMaybe." },
      { type: "text", text: "First I look." },
      { type: "call", tool_call_id: "look", sources: [{ title: "map.md" }] },
      { type: "call", tool_call_id: "add", parent_id: "look", sources: [{ title: "a\nb.md" }, { title: "map.md" }] },
      { type: "text", text: "It is far." },
    ];
    const question: StoredMessage = { ...common, id: "q", role: "user", content: " How far? " };
    expect(markdownOf(thread, [question, { ...answer, parts }]).split("\n\n")).toEqual([
      "# A trip",
      "## You",
      "How far?",
      "## Espalier",
      "> Earlier messages were summarised\n> \n> They met.",
      "> Earlier messages were left out: this chat is too long for the model.",
      "> Far?\n> Maybe.",
      "First I look.",
      "- Look: 50 km\n  - calculate (failed): no",
      "It is far.",
      "Sources: map.md, a b.md",
      "> It was cancelled.\n",
    ]);
  });

  it("has the text of an older message after its calls", () => {
    const written = markdownOf(thread, [answer]);
    expect(written).toContain("## Espalier\n\n- Look: 50 km\n  - calculate (failed): no\n\nFirst I look.\n\nIt is far.\n\n>");
  });
});

describe("the other versions of a chat", () => {
  it("stand behind the conversation", () => {
    const asked = (content: string): StoredMessage => ({ ...common, id: content, role: "user", content });
    const text = markdownOf(thread, [asked("Edited?")], [asked("How far?")]);
    expect(text.trim().split("\n\n")).toEqual(["# A trip", "## You", "Edited?", "# Other versions", "## You", "How far?"]);
  });
});
