// The texts of the public page of a share link.

export const words = {
  untitled: "Shared conversation",
  titled: (title: string) => `${title} · Espalier`,
  sharedAt: (date: string) => `A conversation with Espalier, shared on ${date}. It does not change.`,
  you: "Question",
  answer: "Answer",
  reasoning: "Reasoning",
  failedCall: (name: string) => `${name} (failed)`,
  arguments: "Arguments",
  result: "Result",
  image: "Image",
  loading: "Loading…",
  gone: "There is no such page, or it is no longer shared.",
  failed: "This conversation could not be loaded. Reload the page to try again.",
};
