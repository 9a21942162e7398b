// The panel of bookmarks: each opens its chat at the answer.

import { useEffect, type MouseEvent } from "react";
import { TrashIcon } from "../../components/Icons";
import { PagedList } from "../../components/PagedList";
import { Side } from "../../components/Side";
import type { PanelProps } from "../../feature";
import { addressOf } from "../../state/route";
import { threads } from "../../state/page";
import { useStore } from "../../state/store";
import { agoText } from "../../turn/measures";
import { all, remove, type Marked } from "./bookmarks";
import { words as names } from "./en";
import { words } from "./panel/en";
import { reveal } from "./reveal";
import "./bookmarks.css";

export function BookmarksPanel({ onClose }: PanelProps) {
  useEffect(() => {
    all.forget();
    void all.load();
  }, []);
  return (
    <Side title={names.title} testId="bookmarks" onClose={onClose}>
      <PagedList list={all} label={names.title} none={words.none} more={words.older} row={(each) => <Row key={each.id} bookmark={each} onClose={onClose} />} />
    </Side>
  );
}

function Row({ bookmark, onClose }: { bookmark: Marked; onClose: () => void }) {
  const { thread_id: threadId, turn_id: turnId, excerpt, role, created_at: at } = bookmark;
  const { threads: known } = useStore(threads.store);
  const title = known.find(({ id }) => id === threadId)?.title.trim();
  const open = (event: MouseEvent) => {
    // As for any link, a click with a modifier opens another tab.
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    // A narrow window has the panel over the chat.
    if (document.querySelector("dialog.side:modal")) onClose();
    void reveal(threadId, turnId);
  };
  const about = [title, role === "user" ? words.question : null, agoText(at, Date.now())];
  return (
    <li className="row" data-testid="bookmarked">
      <a className="row-words bookmark-link" href={addressOf(threadId)} onClick={open}>
        <span className="row-name" dir="auto">{excerpt}</span>
        <span className="row-more">{about.filter(Boolean).join(" · ")}</span>
      </a>
      <button
        type="button"
        className="icon-button small"
        data-testid="bookmark-remove"
        aria-label={words.removeOf(excerpt.slice(0, 60))}
        title={words.remove}
        onClick={() => void remove(bookmark.id)}
      >
        <TrashIcon />
      </button>
    </li>
  );
}
