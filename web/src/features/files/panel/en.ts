// The words of the panel of files. They come with the panel.

import { count } from "../../../en";

export const words = {
  lead: "The files of this chat. You and Espalier can read and write them.",
  noChat: "Files are available after the first message.",
  add: "Add files",
  drop: "or drop them here: any type, up to 1 MiB each",
  all: "All files",
  open: (path: string) => `Open ${path}`,
  noPreview: "No preview for this type. Download the file to open it.",
  cut: "This is the beginning of the file. Download it to read all.",
  uploads: "Uploads",
  none: "No files yet.",
  sum: (files: number, size: string) => `${count(files, "file")}, ${size}`,
  download: "Download",
  downloadPart: (path: string) => `Download ${path}`,
  sending: "is being sent…",
  replace: "Replace it",
  keepIt: "Keep it",
  tooMany: (most: number, surplus: number) => `You can send ${most} files at once. The last ${surplus} were left out.`,
  there: "already exists.",
  changed: "has changed in the meantime.",
  tooLarge: "is too large: a file can have 1 MiB.",
  full: "does not fit: the storage of this chat is full. Delete files, then send it again.",
  badName: (why: string) => `cannot be saved under this name: ${why}`,
  notSent: (why: string) => `was not sent. ${why}`,
};
