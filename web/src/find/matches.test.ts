// Issue 53: find reaches the messages that are not drawn.

import { expect, it } from "vitest";
import { exchangesOf } from "../turn/stored";
import type { StoredMessage } from "../wire";
import { matchesIn } from "./matches";

const message = (turn_id: string, role: "user" | "assistant", content: string) => ({ id: `${turn_id}${role}`, turn_id, role, content, created_at: 0 }) as StoredMessage;
const chat = exchangesOf([
  message("a", "user", "How do I prune a Pear?"), message("a", "assistant", "In winter."),
  message("b", "user", "And figs?\n\nAttached file: pears.txt\n`````\npear\n`````"), message("b", "assistant", "Less than pears."),
]);

it("finds messages in their order, in either case, and nothing within attached files", () => {
  expect(matchesIn(chat, " pear ")).toEqual([{ turnId: "a", part: "question" }, { turnId: "b", part: "answer" }]);
  expect([matchesIn(chat, " "), matchesIn(chat, "plum")]).toEqual([[], []]);
});
