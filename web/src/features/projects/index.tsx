// Projects: their tasks and documents, which the agent makes and changes and a person reads. It gives the page a panel
// with a button in the sidebar, and the subjects by which a chat is about a project.

import { FlagIcon } from "../../components/Icons";
import type { Feature } from "../../feature";
import { part } from "../../state/parts";
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
    label: "Projects",
    Icon: FlagIcon,
    place: "sidebar",
    testId: "projects-open",
  },
  subjects: {
    project: "A project",
    project_create: "A new project",
    project_audit: "A look over a project",
    task: "Tasks",
  },
  ended: () => list?.touched(),
};
