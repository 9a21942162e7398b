// The words of the button below an answer, and of the panel.

export const words = {
  add: "Bookmark this answer",
  remove: "Remove the bookmark",
  removeOf: (start: string) => `Remove the bookmark of “${start}”`,
  none: "No bookmarks yet. The button below an answer makes one.",
  older: "Show older bookmarks",
  question: "your message",
};
