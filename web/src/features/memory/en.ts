// The words of memory.

export const words = {
  title: "Memory",
  on: "Remember me across chats",
  onNote: "Espalier may save facts that you tell it, and use them in your other chats.",
  list: "Your memories",
  none: "No memories yet.",
  older: "Show older memories",
  forget: (start: string) => `Forget “${start}”`,
  forgetQuestion: "Forget this memory?",
  forgetNow: "Forget",
  forgetAll: "Forget all",
  forgetAllQuestion: "Forget all memories?",
};
