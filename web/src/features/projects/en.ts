// The words of projects.

export const words = {
  title: "Projects",
  lead: "Projects hold tasks and documents. To create one, choose the mode “New project” for a chat and describe it.",
  none: "No projects yet.",
  all: "All projects",
  one: "Project",
  use: "Use in this chat",
  tasks: "Tasks",
  noTasks: "No tasks.",
  tasksOf: (name: string) => `Tasks of ${name}`,
  documents: "Documents",
  noDocuments: "No documents.",
  documentsOf: (name: string) => `Documents of ${name}`,
  states: { open: "open", in_progress: "in progress", done: "done" },
  waitsFor: (titles: string) => `waits for ${titles}`,
  modes: { project: "Project", project_create: "New project", project_audit: "Project review", task: "Tasks" },
};
