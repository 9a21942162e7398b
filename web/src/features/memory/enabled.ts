// The person's choice whether chats use memory.

import { keep, kept } from "../../state/kept";
import { Store } from "../../state/store";

const KEY = "espalier.memory";

export const memory = new Store({ enabled: kept(KEY) === "on" });

export function enableMemory(enabled: boolean): void {
  memory.set({ enabled });
  keep(KEY, enabled ? "on" : null);
}
