/** An espalier: one stem, its arms trained along the wires, a leaf at every end. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg className={className} viewBox="0 0 32 32" fill="none" aria-hidden="true" focusable="false">
      <g className="logo-frame">
        <path d="M1 11h30M1 18h30M1 25h30" />
      </g>
      <g className="logo-tree">
        <path d="M16 31V6" />
        <path d="M16 28.5c0-2.3-1.2-3.5-3.5-3.5H8c-2 0-3-1-3-3M16 28.5c0-2.3 1.2-3.5 3.5-3.5H24c2 0 3-1 3-3" />
        <path d="M16 21.5c0-2.3-1.2-3.5-3.5-3.5H8c-2 0-3-1-3-3M16 21.5c0-2.3 1.2-3.5 3.5-3.5H24c2 0 3-1 3-3" />
        <path d="M16 14.5c0-2.3-1.2-3.5-3.5-3.5H11c-2 0-3-1-3-3M16 14.5c0-2.3 1.2-3.5 3.5-3.5H21c2 0 3-1 3-3" />
      </g>
      <g className="logo-leaf">
        <circle cx="16" cy="4" r="2.3" />
        <circle cx="8" cy="7" r="2" />
        <circle cx="24" cy="7" r="2" />
        <circle cx="5" cy="14.2" r="2" />
        <circle cx="27" cy="14.2" r="2" />
        <circle cx="5" cy="21.2" r="2" />
        <circle cx="27" cy="21.2" r="2" />
      </g>
    </svg>
  );
}
