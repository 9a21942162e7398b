// Shows a few lines of a long text, and its end while it grows. Three subtasks that each write a page would otherwise push
// the answer out of sight.

import { useEffect, useRef, useState, type ReactNode } from "react";
import { en } from "../en";

interface Props {
  growing: boolean;
  children: ReactNode;
}

export function Clamp({ growing, children }: Props) {
  const [open, setOpen] = useState(false);
  const [overflows, setOverflows] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!box.current || !content.current) return;
    const measured = box.current;
    const observer = new ResizeObserver(() => {
      setOverflows(measured.scrollHeight > measured.clientHeight + 4);
      if (growing) measured.scrollTop = measured.scrollHeight;
    });
    observer.observe(content.current);
    return () => observer.disconnect();
  }, [growing]);

  useEffect(() => {
    if (!growing && box.current) box.current.scrollTop = 0;
  }, [growing]);

  return (
    <div className="clamp" data-open={open} data-overflows={overflows && !open} data-growing={growing}>
      <div className="clamp-box" ref={box}>
        <div ref={content}>{children}</div>
      </div>
      {(overflows || open) && (
        <button
          type="button"
          className="link-button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? en.common.showLess : en.common.showAll}
        </button>
      )}
    </div>
  );
}
