// The words of the search within a chat.

export const words = {
  label: "Find in this chat",
  place: (place: number, all: number) => `${place} of ${all}`,
  none: "Not found",
  previous: "Previous message",
  next: "Next message",
  close: "Close the search",
};
