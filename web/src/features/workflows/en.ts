// The words of workflows that the page needs before their chunks.

export const words = {
  title: "Workflows",
  running: {
    complete_step: "Finishing a step",
    verify_step: "Checking a step",
    planned_step: "Carrying out a plan",
    __step_output__: "Working on a step",
  },
};
