// The words of the panel of share links.

import { count } from "../../../count";

export const words = {
  lead: "Everybody who has the link can read this chat as it is now. Later messages are not shared.",
  titled: "Readers see the chat's title.",
  titledSo: "Readers see the chat's title:",
  noChat: "Send a message first. Then you can share the chat.",
  choose: "Share more than the texts",
  tools: "Tool calls, with their arguments and results",
  reasoning: "The model's reasoning",
  files: "Images and files of your messages",
  ends: "The link ends",
  never: "when you revoke it",
  after: (days: number) => `after ${count(days, "day")}`,
  create: "Create a link",
  creating: "Creating a link…",
  created: "The link is ready. Copy it now: it is shown only once.",
  link: "Link",
  copyLink: "the link",
  ofChat: "Links to this chat",
  ofOthers: "Links to other chats",
  none: "No links.",
  untitled: "Untitled chat",
  made: (ago: string, messages: number) => `${ago} · ${count(messages, "message")}`,
  until: (date: string) => `until ${date}`,
  with: { tools: "tool calls", reasoning: "reasoning", files: "files" },
  revoke: "Revoke",
  revokeQuestion: "Revoke this link?",
};
