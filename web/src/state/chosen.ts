// Which collections a chat looks into.

import type { Collection } from "../wire";
import { PerChat } from "./perChat";

export type Chosen = Pick<Collection, "id" | "name">;

/** What the service takes with one message (docs/wire-protocol.md). */
export const MAX_CHOSEN = 8;

export const chosen = new PerChat<readonly Chosen[]>("espalier.collections", (list) => list.length === 0);

export function chosenFor(chat: string): readonly Chosen[] {
  return chosen.of(chat) ?? [];
}

/** The service knows this one of a chat's collections no more (`collections[1]`): the next message goes without it. */
export function refuse(chat: string, member: string | null): void {
  const at = /^collections\[(\d+)\]$/.exec(member ?? "")?.[1];
  const gone = at === undefined ? undefined : chosenFor(chat)[Number(at)];
  if (gone) unchoose(gone.id);
}

/** A collection is not there any more. */
export function unchoose(id: string): void {
  chosen.change((list) => list.filter((each) => each.id !== id));
}
