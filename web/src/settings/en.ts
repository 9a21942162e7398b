// The texts of the settings and of the usage in them. The first screen does not need them.

export const settings = {
  close: "Close the settings",
  theme: "Theme",
  themes: { system: "Same as system", light: "Light", dark: "Dark" },
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
