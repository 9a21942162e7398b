// The memories of this user.

import { Paged } from "../../state/paged";
import type { Memory } from "../../wire.generated";
import { forgetAllMemories, forgetMemory, listMemories } from "./api";

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
