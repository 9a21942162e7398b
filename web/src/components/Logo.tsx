/** An espalier: one stem, its arms trained along the wires, a leaf at every end. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg className={className} viewBox="0 0 32 32" fill="none" aria-hidden="true" focusable="false">
      <g className="logo-frame" strokeWidth="1">
        <path d="M3 8.5h26M3 15.5h26M3 22.5h26" />
      </g>
      <g className="logo-tree" strokeWidth="2.2" strokeLinecap="round" strokeLinejoin="round">
        <path d="M16 29V5" />
        <path d="M16 26c0-2.4-1.2-3.5-3.6-3.5H5.5M16 26c0-2.4 1.2-3.5 3.6-3.5h6.9" />
        <path d="M16 19c0-2.4-1.2-3.5-3.6-3.5H7.5M16 19c0-2.4 1.2-3.5 3.6-3.5h4.9" />
        <path d="M16 12c0-2.4-1.2-3.5-3.6-3.5H9.5M16 12c0-2.4 1.2-3.5 3.6-3.5h2.9" />
      </g>
      <g className="logo-leaf">
        <circle cx="16" cy="4" r="2.2" />
        <circle cx="8.5" cy="8.5" r="2" />
        <circle cx="23.5" cy="8.5" r="2" />
        <circle cx="6.5" cy="15.5" r="2" />
        <circle cx="25.5" cy="15.5" r="2" />
        <circle cx="4.5" cy="22.5" r="2" />
        <circle cx="27.5" cy="22.5" r="2" />
      </g>
    </svg>
  );
}
