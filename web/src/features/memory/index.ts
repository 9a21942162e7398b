// Memory: facts about a user that the service keeps from one chat to the next. It gives the page a section of the settings,
// and the member `memory_enabled` of a message.

import type { Feature } from "../../feature";
import { part } from "../../state/parts";
import { memory as setting } from "./enabled";

export const memory: Feature = {
  name: "memory",
  setting: part(() => import("./MemorySetting").then((module) => module.MemorySetting)),
  request: () => (setting.get().enabled ? { memory_enabled: true } : {}),
};
