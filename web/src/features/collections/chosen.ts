// The collections that each chat searches.

import { PerChat } from "../../state/perChat";
import type { Collection } from "../../wire.generated";

export type Chosen = Pick<Collection, "id" | "name">;

/** The service's limit for one message (docs/wire-protocol.md). */
export const MAX_CHOSEN = 8;

export const chosen = new PerChat<readonly Chosen[]>("espalier.collections", (list) => list.length === 0);

export function chosenFor(chat: string): readonly Chosen[] {
  return chosen.of(chat) ?? [];
}

/** The service no longer has this collection of the chat (`collections[1]`): the next message goes without it. */
export function dropRefused(chat: string, member: string | null): void {
  const at = /^collections\[(\d+)\]$/.exec(member ?? "")?.[1];
  const gone = at === undefined ? undefined : chosenFor(chat)[Number(at)];
  if (gone) unchoose(gone.id);
}

/** Drops a deleted collection from all chats. */
export function unchoose(id: string): void {
  chosen.change((list) => list.filter((each) => each.id !== id));
}
