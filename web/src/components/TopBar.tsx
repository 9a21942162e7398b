import { useEffect, useRef } from "react";
import { en } from "../en";
import type { TurnClock } from "../state/clock";
import type { TurnView } from "../turn/view";
import { MenuIcon } from "./Icons";
import { TopBarButtons } from "./Panels";
import { BudgetBar } from "./StatusChip";

interface Props {
  title: string;
  turn: { view: TurnView; clock: TurnClock } | null;
  menuOpen: boolean;
  onMenu: () => void;
}

export function TopBar({ title, turn, menuOpen, onMenu }: Props) {
  const menu = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // The focus comes back from the drawer to its button.
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
        title={en.page.chats}
      >
        <MenuIcon />
        <span className="visually-hidden">{en.page.chats}</span>
      </button>
      <h1 className="top-title" dir="auto">
        {title}
      </h1>
      <TopBarButtons />
      {turn && <BudgetBar turn={turn} />}
    </header>
  );
}
