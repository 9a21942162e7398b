// The words of hooks, in open cards.

import type { HookPoint } from "../../wire";

export const failed = {
  block: (point: HookPoint) => `gave no verdict, so the ${point === "answer" ? "answer" : "call"} was blocked`,
  allow: "gave no verdict",
};
