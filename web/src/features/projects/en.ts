// The words of projects.

export const words = {
  title: "Projects",
  lead: "A project holds tasks and documents. Espalier keeps both up to date while you chat about it.",
  create: "New project",
  createAbout: "Describe it in your next message.",
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
  modes: {
    project: { name: "Project", about: "Works on the tasks and documents of a project." },
    project_create: { name: "New project", about: "Describe a project. It is created with its first tasks." },
    project_audit: { name: "Project review", about: "Examines a project: what is late, blocked or missing." },
    task: { name: "Tasks", about: "Adds, changes and finishes tasks." },
  },
};
