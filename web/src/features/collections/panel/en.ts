// The words of the panel of collections. They come with the panel.

import { count } from "../../../en";

export const words = {
  lead: "Collections of documents. Espalier searches the ones you choose for a chat.",
  none: "No collections yet.",
  full: (most: number) => `A chat can search ${most} collections. Remove one to choose another.`,
  create: "New collection",
  createNow: "Create",
  name: "Name",
  about: "Subject (optional)",
  size: (documents: number, size: string) => (documents === 0 ? "no documents yet" : `${count(documents, "document")}, ${size}`),
  use: ", use in this chat",
  open: "Open",
  openPart: (name: string) => `Open ${name}`,
  all: "All collections",
  documents: (name: string) => `Documents of ${name}`,
  noDocuments: "No documents yet.",
  add: "Add documents",
  types: (pdfs: boolean) => `text, Markdown, HTML, CSV, JSON${pdfs ? ", PDF" : ""}`,
  sending: (n: number) => (n === 1 ? "Sending 1 document…" : `Sending ${n} documents…`),
  remove: "Delete this collection",
  removeQuestion: "Delete this collection and its documents?",
  refused: (name: string, why: string) => `“${name}” ${why}`,
  tooMany: (most: number, surplus: number) => `You can send ${most} documents at once. The last ${surplus} were left out.`,
  wrongType: (pdfs: boolean) => `is not text, Markdown, HTML, CSV${pdfs ? ", JSON or PDF" : " or JSON"}. Save it as one of these first.`,
  emptyFile: "is empty.",
  tooLarge: "is too large: a document can have 1 MiB. Split it.",
  wasRefused: (why: string) => `was refused: ${why}`,
  notSent: (why: string) => `was not sent. ${why}`,
};
