// Memory: what the service remembers of a user from one chat to the next. It gives the page a section of the settings,
// and the member `memory_enabled` of a message.

import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { memoryOn } from "./memories";

export const memory: Feature = {
  name: "memory",
  setting: part(() => import("./MemorySetting").then((module) => module.MemorySetting)),
  request: () => (memoryOn.get().on ? { memory_enabled: true } : {}),
};
