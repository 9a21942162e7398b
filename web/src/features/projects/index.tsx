// Projects: their tasks and documents, which the agent makes and changes and a person reads. It gives the page a panel
// with a button in the sidebar, and the subjects by which a chat is about a project.

import { FlagIcon } from "../../components/Icons";
import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { projects as list } from "./projects";

export const projects: Feature = {
  name: "projects",
  panel: {
    part: part(() => import("./ProjectsPanel").then((module) => module.ProjectsPanel)),
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
  ended: () => list.touched(),
};
