// Files: the workspace of a chat, which the agent's tools and the reader share. It gives the page a panel with a button
// in the top bar, and reads the list again when a tool or a turn may have changed it.

import { line } from "../../components/Icons";
import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { words } from "./en";
import type { Workspace } from "./workspace";

/** Comes with the panel: a list that was never shown needs no renewal. */
let workspace: Workspace | null = null;

export const files: Feature = {
  name: "files",
  panel: {
    part: part(async () => {
      const module = await import("./FilesPanel");
      workspace = module.workspace;
      return module.FilesPanel;
    }),
    label: words.title,
    Icon: line("M3 15.5v-11h5l1.8 2.2H17v8.8z"),
    place: "top bar",
    testId: "files-toggle",
  },
  called: (threadId, tool) => workspace?.called(threadId, tool),
  ended: (threadId) => workspace?.touched(threadId),
  returned: () => void workspace?.load(),
};
