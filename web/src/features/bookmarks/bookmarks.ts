// The bookmarks of this person: the list of the panel, and those of the open chat, which its answers show.

import { request, requestJson, wordsFor } from "../../api/http";
import { Paged } from "../../state/paged";
import type { Bookmark, BookmarkList } from "../../wire.generated";

/** A bookmark has the id of its message. */
export type Marked = Bookmark & { id: string };

const marked = (bookmark: Bookmark): Marked => ({ ...bookmark, id: bookmark.message_id });

function pages(limit: number, thread: () => string | null) {
  return async (cursor: string | null) => {
    const query = new URLSearchParams({ limit: String(limit) });
    const threadId = thread();
    if (threadId !== null) query.set("thread_id", threadId);
    if (cursor !== null) query.set("cursor", cursor);
    const { bookmarks, next_cursor } = await requestJson<BookmarkList>(`/api/bookmarks?${query}`);
    return { items: bookmarks.map(marked), next_cursor };
  };
}

/** All of them, for the panel. */
export const all = new Paged<Marked>(pages(50, () => null));

let chat: string | null = null;

/** Those of the open chat. */
export const ofChat = new Paged<Marked>(pages(200, () => chat));

/** Reads the bookmarks of a chat, unless they were read already. */
export async function follow(threadId: string): Promise<void> {
  if (chat === threadId) return;
  chat = threadId;
  ofChat.forget();
  await ofChat.load();
  const isRead = () => ofChat.store.get().problem === null;
  while (chat === threadId && isRead() && ofChat.store.get().nextCursor !== null) await ofChat.more();
  // The next answer that is drawn reads them again.
  if (chat === threadId && !isRead()) chat = null;
}

/** Bookmarks an answer. The reason, where that failed. */
export async function add(threadId: string, messageId: string): Promise<string | null> {
  try {
    const path = `/api/threads/${threadId}/bookmarks/${encodeURIComponent(messageId)}`;
    const made = marked(await requestJson<Bookmark>(path, { method: "PUT" }));
    if (chat === threadId) ofChat.put(made);
    if (all.store.get().phase === "ready") all.put(made);
    return null;
  } catch (error) {
    return wordsFor(error);
  }
}

/** Deletes a bookmark. The reason, where that failed. */
export async function remove(messageId: string): Promise<string | null> {
  const path = `/api/bookmarks/${encodeURIComponent(messageId)}`;
  const done = await all.remove(messageId, async () => void (await request(path, { method: "DELETE" })));
  if (!done) return all.store.get().problem;
  await ofChat.remove(messageId, async () => {});
  return null;
}
