// What the service remembers of this user from one chat to the next.

import { forgetAllMemories, forgetMemory, listMemories } from "../api/memories";
import type { Memory } from "../wire";
import { Paged } from "./paged";

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
