// The texts of the section with all data of a person.

import { count } from "../count";

export const words = {
  title: "Your data",
  open: "Download your data",
  note: "Everything that is stored of you, as one file of JSON lines: chats with all versions, files, memories, collections, projects, agents, workflows and usage.",
  download: "Download everything",
  goOn: "Try again",
  cancel: "Cancel",
  progress: (lines: number, size: string) => `${lines} entries, ${size} so far`,
  done: (lines: number) => `Your file has ${lines} entries.`,
  unreadable: (chats: number) => `${count(chats, "chat")} could not be read, and the rest is there. Download it again later.`,
};

export const eraseWords = {
  open: "Delete your data",
  note: "Deletes everything that is stored of you for ever, signs you out everywhere and ends your API keys. What others quoted of you stays in their chats.",
  erase: "Delete everything",
  question: "Delete all your data for ever?",
  title: "Your data is being deleted",
  running: "This takes about two minutes, and goes on when you close the page.",
  removed: (items: number) => (items === 0 ? "" : `${count(items, "item")} deleted so far.`),
  done: "All your data is deleted",
  doneNote: "You are signed out.",
  anew: "Start anew",
};
