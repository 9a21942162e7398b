// Line icons, drawn here: a font or a library would be the heavier thing.

import type { ReactNode } from "react";

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const ArrowUpIcon = () => (
  <Icon>
    <path d="M10 16V4.5M5 9.5l5-5 5 5" />
  </Icon>
);

export const ArrowDownIcon = () => (
  <Icon>
    <path d="M10 4v11.5M5 10.5l5 5 5-5" />
  </Icon>
);

export const StopIcon = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="9" height="9" rx="1.5" fill="currentColor" stroke="none" />
  </Icon>
);

export const PlusIcon = () => (
  <Icon>
    <path d="M10 4.5v11M4.5 10h11" />
  </Icon>
);

export const TrashIcon = () => (
  <Icon>
    <path d="M4 6h12M8 6V4.2h4V6M5.5 6l.7 9.8h7.6l.7-9.8" />
  </Icon>
);

export const MenuIcon = () => (
  <Icon>
    <path d="M3.5 6h13M3.5 10h13M3.5 14h8" />
  </Icon>
);

export const CloseIcon = () => (
  <Icon>
    <path d="M5.5 5.5l9 9M14.5 5.5l-9 9" />
  </Icon>
);

export const ChevronIcon = () => (
  <Icon>
    <path d="M8 5.5l4.5 4.5L8 14.5" />
  </Icon>
);

export const CheckIcon = () => (
  <Icon>
    <path d="M5 10.5l3.5 3.5L15 6.5" />
  </Icon>
);

export const CopyIcon = () => (
  <Icon>
    <path d="M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3" />
  </Icon>
);
