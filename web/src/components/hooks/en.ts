// The words of hooks, in open cards.

export const failed = {
  block: "gave no verdict, so it was blocked",
  allow: "gave no verdict",
};
