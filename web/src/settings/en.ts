// The texts of the settings and of the usage in them. The first screen does not need them.

import type { AuditAction } from "../wire.generated";

export const settings = {
  close: "Close the settings",
  theme: "Theme",
  themes: { system: "Same as system", light: "Light", dark: "Dark" },
  work: "Work behind an answer",
  workLabel: "Show each call and subtask, not one line for all of them",
  enter: "Key that sends a message",
  enterKeys: { send: "Enter", line: "Ctrl + Enter" },
  model: "Model",
  defaultModel: "Default",
  byRole: "By role",
  byName: "By name",
  keys: "Keyboard shortcuts",
  keyNames: { enter: "Enter", shift: "Shift", escape: "Esc", control: "Ctrl" },
  acts: {
    send: "Send",
    sendNow: "Send now, in place of the answer in progress",
    newLine: "New line",
    editLast: "Edit the last message (in an empty box)",
    stop: "Stop the answer",
    write: "Write a message",
    search: "Search chats",
    find: "Find in a long chat",
    newChat: "New chat",
  },
  version: (version: string, model: string | undefined) => `Espalier ${version}${model ? `, answered by ${model}` : ""}`,
};

export const sessionWords = {
  title: "Sessions",
  open: "Where you are signed in",
  none: "No sessions yet. A visitor’s session is listed after the first message.",
  current: "This browser",
  seen: (ago: string) => `Last seen ${ago}`,
  end: "Sign out there",
  endQuestion: "Sign this browser out?",
  endOthers: "Sign out everywhere else",
  endOthersQuestion: "Sign all other browsers out?",
};

// A newer service may write other words, which are shown as they are.
const ACTIONS: Record<AuditAction, string> = {
  key_minted: "Made a key",
  key_revoked: "Revoked a key",
  signed_in: "Signed in",
  session_ended: "Ended a session",
  sessions_ended: "Ended all other sessions",
  approval_granted: "Allowed a call",
  approval_denied: "Refused a call",
  call_refused: "A rule refused a call",
  thread_deleted: "Deleted a chat",
  data_deleted: "Deleted data",
  data_exported: "Took an export",
  data_erased: "All data was erased",
  share_created: "Made a share link",
  share_revoked: "Ended a share link",
};

export const auditWords = {
  title: "Audit log",
  open: "Who did what here",
  none: "No entries yet.",
  by: (user: string, ago: string) => `${user}, ${ago}`,
  about: (target: string, detail: string) => `${target} (${detail})`,
  actions: ACTIONS as Partial<Record<string, string>>,
};

export const usage = {
  title: "Usage",
  open: "Your usage in the last 30 days",
  none: "No usage yet.",
  by: "By",
  columns: { day: "Day", operation_type: "Operation", model: "Model", context_type: "Context" },
  calls: "Calls",
  tokens: "Tokens",
  cost: "Cost",
  all: "All",
  note: "Model calls by day (UTC). An answer is counted shortly after its end.",
};
