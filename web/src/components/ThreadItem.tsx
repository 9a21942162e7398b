import { useRef, useState, type MouseEvent } from "react";
import { en } from "../en";
import { chatStates, stateOf } from "../state/chatStates";
import { fetchPart, printThread, saveThread, threads } from "../state/page";
import { editors } from "../state/parts";
import { addressOf } from "../state/route";
import { useStore } from "../state/store";
import type { ThreadSummary } from "../wire";
import { focusNext, neighbour } from "./focus";
import { MoreIcon, PencilIcon, PinIcon, SaveIcon, TrashIcon } from "./Icons";
import { Menu } from "./Menu";

interface Props {
  thread: ThreadSummary;
  current: boolean;
  onOpen: () => void;
  onDelete: () => void;
}

export function ThreadItem({ thread, current, onOpen, onDelete }: Props) {
  const [naming, setNaming] = useState(false);
  const Naming = editors.use(naming)?.Naming;
  const item = useRef<HTMLLIElement>(null);
  const title = thread.title.trim() || en.sidebar.untitled;

  const remove = () => {
    const next = neighbour(item.current);
    onDelete();
    // The composer of a new chat has the focus where the open chat was deleted.
    focusNext(() => next?.querySelector("a") ?? document.getElementById(NEW_CHAT_ID));
  };

  const rename = () => {
    setNaming(true);
    fetchPart(editors, () => setNaming(false));
  };

  const pin = () => {
    void threads.pin(thread);
    // It is drawn anew among the others of its kind.
    focusNext(() => document.querySelector<HTMLElement>(`[data-thread-id="${thread.id}"] button`));
  };

  return (
    <li ref={item} className="thread-item" data-testid="thread-item" data-thread-id={thread.id} data-current={current}>
      {naming && Naming ? (
        <Naming
          title={title}
          onDone={(name) => {
            setNaming(false);
            if (name !== null) void threads.rename(thread.id, name);
            focusNext(() => item.current?.querySelector<HTMLElement>("button"));
          }}
        />
      ) : (
        <>
          <ThreadLink thread={thread} current={current} title={title} onOpen={onOpen} />
          <Acts thread={thread} title={title} pin={pin} rename={rename} remove={remove} />
        </>
      )}
    </li>
  );
}

interface ActsProps {
  thread: ThreadSummary;
  title: string;
  pin: () => void;
  rename: () => void;
  remove: () => void;
}

function Acts({ thread, title, pin, rename, remove }: ActsProps) {
  return (
    <Menu
      label={en.sidebar.more(title)}
      testId="thread-menu"
      items={[
        { label: thread.pinned_at ? en.sidebar.unpin : en.sidebar.pin, icon: <PinIcon />, testId: "thread-pin", act: pin },
        { label: en.sidebar.rename, icon: <PencilIcon />, testId: "thread-rename", act: rename },
        {
          label: en.sidebar.saveMarkdown,
          icon: <SaveIcon />,
          testId: "thread-markdown",
          act: () => void saveThread(thread.id, "markdown"),
        },
        {
          label: en.sidebar.saveJson,
          icon: <SaveIcon />,
          testId: "thread-json",
          act: () => void saveThread(thread.id, "json"),
        },
        { label: en.sidebar.print, icon: <SaveIcon />, testId: "thread-print", act: () => void printThread(thread.id) },
        { label: en.common.delete, icon: <TrashIcon />, danger: true, testId: "thread-delete", act: remove },
      ]}
    >
      <MoreIcon />
    </Menu>
  );
}

function ThreadLink({ thread, current, title, onOpen }: Pick<Props, "thread" | "current" | "onOpen"> & { title: string }) {
  const open = (event: MouseEvent) => {
    // As for any link, a click with a modifier opens another tab.
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    onOpen();
  };
  const state = stateOf(thread, useStore(chatStates), current);
  return (
    <a href={addressOf(thread.id)} aria-current={current ? "page" : undefined} onClick={open} title={title}>
      <span className="thread-title" dir="auto">
        {title}
      </span>
      {state && (
        <span className="thread-state" data-testid="thread-state" data-state={state} title={en.sidebar.states[state]}>
          <span className="visually-hidden">{en.sidebar.states[state]}</span>
        </span>
      )}
      {thread.snippet && (
        <span className="thread-snippet" dir="auto">
          {thread.snippet.replace(/\s+/g, " ")}
        </span>
      )}
    </a>
  );
}

/** The id of the button that begins a chat. */
export const NEW_CHAT_ID = "new-chat";
