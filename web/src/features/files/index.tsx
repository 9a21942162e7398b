// Files: the workspace of a chat, which the agent's tools and the reader share. It gives the page a panel with a button
// in the top bar, and reads the list again when a tool or a turn may have changed it.

import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { line } from "../../components/Icons";
import { FILE_TOOLS, workspace } from "./workspace";

export const files: Feature = {
  name: "files",
  panel: {
    part: part(() => import("./FilesPanel").then((module) => module.FilesPanel)),
    label: "Files",
    Icon: line("M3 15.5v-11h5l1.8 2.2H17v8.8z"),
    place: "top bar",
    testId: "files-toggle",
  },
  called: (threadId, tool) => {
    if (FILE_TOOLS.has(tool)) workspace.touched(threadId);
  },
  ended: (threadId) => workspace.touched(threadId),
  returned: () => void workspace.load(),
};
