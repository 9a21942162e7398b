// The words of projects that the page needs before their panel.

export const words = {
  title: "Projects",
  modes: {
    project: { name: "Project", about: "Works on the tasks and documents of a project." },
    project_create: { name: "New project", about: "Describe a project. It is created with its first tasks." },
    project_audit: { name: "Project review", about: "Examines a project: what is late, blocked or missing." },
    task: { name: "Tasks", about: "Adds, changes and finishes tasks." },
  },
};
