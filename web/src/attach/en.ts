// The words for files that a message cannot have.

export const words = {
  refused: (name: string, reason: string) => `“${name}” ${reason}`,
  notByModel: "cannot be read by this model. Choose another model",
  tooMany: (most: number) => `is one too many: a message can have ${most} images and PDFs`,
  mediaTooLarge: (kilobytes: number) => `is too large: the images and PDFs of a message can have ${kilobytes} kB in total`,
  unreadable: "cannot be read",
  tooLarge: "is too large",
  notText: "is not a text file",
};
