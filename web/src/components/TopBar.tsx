import { useEffect, useRef } from "react";
import type { Status } from "../turn/status";
import type { TurnClock } from "../state/conversation";
import type { TurnView } from "../turn/view";
import { FolderIcon, MenuIcon } from "./Icons";
import { StatusChip } from "./StatusChip";

interface Props {
  title: string;
  status: Status;
  turn: { view: TurnView; clock: TurnClock } | null;
  menuOpen: boolean;
  onMenu: () => void;
  filesOpen: boolean;
  onFiles: () => void;
}

export function TopBar({ title, status, turn, menuOpen, onMenu, filesOpen, onFiles }: Props) {
  const menu = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // The focus comes back from the drawer to where it went in.
  useEffect(() => {
    if (wasOpen.current && !menuOpen) menu.current?.focus();
    wasOpen.current = menuOpen;
  }, [menuOpen]);

  return (
    <header className="top-bar">
      <button
        ref={menu}
        type="button"
        className="icon-button menu-button"
        aria-expanded={menuOpen}
        aria-controls="sidebar"
        onClick={onMenu}
        title="Chats"
      >
        <MenuIcon />
        <span className="visually-hidden">Chats</span>
      </button>
      <h1 className="top-title">{title}</h1>
      <button
        type="button"
        className="top-button"
        data-testid="files-toggle"
        aria-expanded={filesOpen}
        onClick={onFiles}
        title="Files"
      >
        <FolderIcon />
        <span>Files</span>
      </button>
      <StatusChip status={status} turn={turn} />
    </header>
  );
}
