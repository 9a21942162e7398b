// A button that opens a short list of acts. The list is a popover: the browser draws it above all else, and closes it by
// Escape or a click elsewhere.

import { useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export interface MenuItem {
  label: string;
  /** One sentence below the label. */
  about?: string;
  icon?: ReactNode;
  danger?: boolean;
  /** One of several choices, and whether it is the present one. */
  checked?: boolean;
  /** It can be checked beside others. */
  alone?: boolean;
  testId?: string;
  act: () => void;
}

interface Props {
  label: string;
  className?: string;
  /** The label is seen, where the style has room for it. */
  labelled?: boolean;
  testId?: string;
  items: MenuItem[];
  children: ReactNode;
}

export function Menu({ label, className = "icon-button small", labelled = false, testId, items, children }: Props) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  // After the entries have been drawn, which give the menu its size.
  useLayoutEffect(() => {
    if (open && list.current && button.current) place(list.current, button.current);
  }, [open]);

  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        data-testid={testId}
        aria-haspopup="menu"
        aria-expanded={open}
        popoverTarget={id}
        title={label}
      >
        {children}
        <span className={labelled ? undefined : "visually-hidden"}>{label}</span>
      </button>
      <div
        ref={list}
        id={id}
        className="menu"
        popover="auto"
        role={open ? "menu" : undefined}
        aria-label={open ? label : undefined}
        onKeyDown={(event) => list.current && moveFocus(list.current, event)}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {open &&
          items.map((item) => (
            <button
              key={item.label}
              type="button"
              role={item.checked === undefined ? "menuitem" : item.alone ? "menuitemcheckbox" : "menuitemradio"}
              aria-checked={item.checked}
              className="menu-item"
              data-danger={item.danger}
              data-testid={item.testId}
              onClick={() => {
                list.current?.hidePopover();
                item.act();
              }}
            >
              {item.icon}
              {item.about === undefined ? item.label : <Described label={item.label} about={item.about} />}
            </button>
          ))}
      </div>
    </>
  );
}

function Described({ label, about }: { label: string; about: string }) {
  return (
    <span className="menu-words">
      <span>{label}</span>
      <span className="menu-about">{about}</span>
    </span>
  );
}

const ITEMS = "[role^=menuitem]";

/** Puts a popover below its button, or above it where there is no room below. */
export function placeBeside(menu: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = menu;
  const below = at.bottom + 4;
  const fits = below + offsetHeight <= window.innerHeight - 8;
  menu.style.top = `${fits ? below : Math.max(8, at.top - 4 - offsetHeight)}px`;
  menu.style.left = `${Math.max(8, Math.min(at.right - offsetWidth, window.innerWidth - offsetWidth - 8))}px`;
}

/** The same for a menu, and focuses its first entry. */
function place(menu: HTMLElement, button: HTMLElement): void {
  placeBeside(menu, button);
  (menu.querySelector<HTMLElement>("[aria-checked=true]") ?? menu.querySelector<HTMLElement>(ITEMS))?.focus();
}

function moveFocus(menu: HTMLElement, event: KeyboardEvent): void {
  const all = [...menu.querySelectorAll<HTMLElement>(ITEMS)];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
  if (event.key === "Tab") menu.hidePopover();
  if (next === undefined) return;
  event.preventDefault();
  all[next % all.length]?.focus();
}
