// The texts of the queue of messages.

export const words = {
  title: "Next messages",
  held: "Paused messages",
  resume: "Resume",
  edit: "Edit this message",
  editPart: (words: string) => `Edit ${words}`,
  save: "Save",
  failed: (why: string) => `It could not be sent. ${why}`,
};
