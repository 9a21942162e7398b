// The button below an answer: bookmarks it, or removes the bookmark.

import { useEffect } from "react";
import { conversation, page } from "../../state/page";
import { useStore } from "../../state/store";
import type { TurnView } from "../../turn/view";
import { add, follow, ofChat, remove } from "./bookmarks";
import { words } from "./panel/en";
import "./bookmarks.css";

export function BookmarkButton({ view: { answerId } }: { view: TurnView }) {
  const { threadId } = useStore(conversation.store);
  const { items } = useStore(ofChat.store);
  useEffect(() => {
    if (threadId !== null) void follow(threadId);
  }, [threadId]);
  if (threadId === null || answerId === null) return null;
  const isMarked = items.some(({ id }) => id === answerId);
  const label = isMarked ? words.remove : words.add;
  const press = async () => {
    const problem = await (isMarked ? remove(answerId) : add(threadId, answerId));
    if (problem !== null) page.set({ notice: problem });
  };
  return (
    <button
      type="button"
      className="icon-button small bookmark"
      data-testid="bookmark"
      aria-pressed={isMarked}
      aria-label={words.add}
      title={label}
      onClick={() => void press()}
    >
      <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
        <path d="M6 3h8v14l-4-4-4 4z" />
      </svg>
    </button>
  );
}
