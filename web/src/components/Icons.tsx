// Line icons. They are drawn here because a font or a library would be larger.

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

/** An icon of one path. */
export const line = (d: string) => () => (
  <Icon>
    <path d={d} />
  </Icon>
);

export const ArrowUpIcon = line("M10 16V4.5M5 9.5l5-5 5 5");
export const ArrowDownIcon = line("M10 4v11.5M5 10.5l5 5 5-5");
export const PlusIcon = line("M10 4.5v11M4.5 10h11");
export const TrashIcon = line("M4 6h12M8 6V4.2h4V6M5.5 6l.7 9.8h7.6l.7-9.8");
export const MenuIcon = line("M3.5 6h13M3.5 10h13M3.5 14h8");
export const BackIcon = line("M12 5.5L7.5 10l4.5 4.5");
export const FlagIcon = line("M5.5 16.5v-12h9l-2.2 3 2.2 3h-9");
export const CloseIcon = line("M5.5 5.5l9 9M14.5 5.5l-9 9");
export const ChevronIcon = line("M8 5.5l4.5 4.5L8 14.5");
export const CheckIcon = line("M5 10.5l3.5 3.5L15 6.5");
export const CopyIcon = line("M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3");
export const PencilIcon = line("M4.5 15.5l.6-3L13 4.6l2.4 2.4-7.9 7.9zM11.3 6.3l2.4 2.4");
export const PinIcon = line("M7 3.5h6M8 3.5v5l-2.5 3h9L12 8.5v-5M10 11.5v5");
export const AgainIcon = line("M15.5 10a5.5 5.5 0 1 1-1.7-4M15.5 3.8v3.4h-3.4");
export const SaveIcon = line("M10 4v8.5M6 9l4 3.8L14 9M4.5 16h11");
export const SearchIcon = line("M9 14a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM12.8 12.8l3.4 3.4");
export const ClipIcon = line("M14.8 9.6l-4.9 4.9a3.2 3.2 0 0 1-4.5-4.5l5.4-5.4a2.1 2.1 0 0 1 3 3l-5.4 5.4a1 1 0 0 1-1.5-1.5l4.6-4.6");
export const FileIcon = line("M6 3.5h5l3.5 3.5v9.5h-8.5zM11 3.5v3.5h3.5");
export const ExpandIcon = line("M6.5 8L10 4.5 13.5 8M6.5 12l3.5 3.5 3.5-3.5");
export const CollapseIcon = line("M6.5 4.5L10 8l3.5-3.5M6.5 15.5L10 12l3.5 3.5");
export const ModelIcon = line("M10 3.5l1.6 4.9 4.9 1.6-4.9 1.6L10 16.5l-1.6-4.9L3.5 10l4.9-1.6z");
export const PauseIcon = line("M7.5 5.5v9M12.5 5.5v9");
export const LanesIcon = line("M4 5.5h6M7 10h9M5.5 14.5h5");

export const MoreIcon = () => (
  <Icon>
    <g fill="currentColor" stroke="none">
      <circle cx="4.5" cy="10" r="1.4" />
      <circle cx="10" cy="10" r="1.4" />
      <circle cx="15.5" cy="10" r="1.4" />
    </g>
  </Icon>
);

export const GearIcon = () => (
  <Icon>
    <path d="M3.5 6.5h7M14.5 6.5h2M3.5 13.5h2M9.5 13.5h7" />
    <circle cx="12.5" cy="6.5" r="1.9" />
    <circle cx="7.5" cy="13.5" r="1.9" />
  </Icon>
);

export const StopIcon = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="9" height="9" rx="1.5" fill="currentColor" stroke="none" />
  </Icon>
);
