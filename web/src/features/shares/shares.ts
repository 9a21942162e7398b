// The share links of this person, and the one that was made last.

import { Unreachable, wordsFor } from "../../api/http";
import { Paged } from "../../state/paged";
import { Store } from "../../state/store";
import type { NewShare, ShareSummary } from "../../wire.generated";
import { createShare, listShares, revokeShare } from "./api";

export const shares = new Paged<ShareSummary>(async () => ({ items: (await listShares()).shares, next_cursor: null }));

interface Making {
  busy: boolean;
  /** The link, which the service tells once; null after its chat was left. */
  made: { id: string; threadId: string; link: string } | null;
  problem: string | null;
}

const NOTHING: Making = { busy: false, made: null, problem: null };

export const making = new Store<Making>(NOTHING);

export async function share(threadId: string, chosen: NewShare): Promise<void> {
  making.set({ busy: true, problem: null });
  try {
    const { token: _, path, ...summary } = await createShare(threadId, chosen);
    shares.put(summary);
    const link = new URL(path, window.location.origin).href;
    making.set({ busy: false, made: { id: summary.id, threadId, link } });
  } catch (error) {
    making.set({ busy: false, problem: wordsFor(error) });
    // The service may have made a link.
    if (error instanceof Unreachable) void shares.load();
  }
}

export async function revoke({ id }: ShareSummary): Promise<void> {
  const gone = await shares.remove(id, () => revokeShare(id));
  if (gone && making.get().made?.id === id) making.set({ made: null });
}

export function forgetMade(): void {
  making.set(NOTHING);
}
