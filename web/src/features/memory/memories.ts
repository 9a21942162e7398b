// The memories of this user, and whether chats may use them.

import { keep, kept } from "../../state/kept";
import { Paged } from "../../state/paged";
import { Store } from "../../state/store";
import type { Memory } from "../../wire.generated";
import { forgetAllMemories, forgetMemory, listMemories } from "./api";

const KEY = "espalier.memory";

export const memoryOn = new Store({ on: kept(KEY) === "on" });

export function setMemory(on: boolean): void {
  memoryOn.set({ on });
  keep(KEY, on ? "on" : null);
}

export const memories = new Paged<Memory>(async (cursor) => {
  const { memories: items, next_cursor } = await listMemories(cursor);
  return { items, next_cursor };
});

export function forget({ id }: Memory): Promise<boolean> {
  return memories.remove(id, () => forgetMemory(id));
}

export function forgetAll(): Promise<void> {
  return memories.clear(forgetAllMemories);
}
