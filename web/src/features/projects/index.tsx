// Projects: their tasks and documents, which the agent makes and changes and a person reads. It gives the page a panel
// with a button in the sidebar, and the subjects by which a chat is about a project.

import { FlagIcon } from "../../components/Icons";
import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { words } from "./en";
import type { Projects } from "./projects";

/** Comes with the panel: a list that was never shown needs no renewal. */
let list: Projects | null = null;

export const projects: Feature = {
  name: "projects",
  panel: {
    part: part(async () => {
      const module = await import("./ProjectsPanel");
      list = module.projects;
      return module.ProjectsPanel;
    }),
    label: words.title,
    Icon: FlagIcon,
    place: "sidebar",
    testId: "projects-open",
  },
  subjects: words.modes,
  ended: () => list?.touched(),
};
