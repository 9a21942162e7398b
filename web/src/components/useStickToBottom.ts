// Keeps the end in view while the text grows, if the reader is at the end. A reader who scrolled up or opened a card is
// reading: the page must not move then.

import { useCallback, useEffect, useRef, useState } from "react";

/** Near enough to the end to count as there. */
const SLACK_PX = 48;

export function useStickToBottom(chat: string, enabled: boolean) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const [away, setAway] = useState(false);

  const toBottom = useCallback(() => {
    stuck.current = true;
    setAway(false);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, []);

  useEffect(() => {
    const box = scroller.current;
    if (!box || !content.current) return;
    const distance = () => box.scrollHeight - box.clientHeight - box.scrollTop;
    let lastTop = 0;
    const onScroll = () => {
      // Only scrolling up lets go of the end. Text that grew since the last frame leaves a distance too, without an act
      // of the reader.
      if (distance() < SLACK_PX) stuck.current = true;
      else if (box.scrollTop < lastTop) stuck.current = false;
      lastTop = box.scrollTop;
      setAway(!stuck.current);
    };
    const onClick = (event: MouseEvent) => {
      if ((event.target as Element).closest("[aria-expanded], .versions")) stuck.current = false;
    };
    const observer = new ResizeObserver(() => {
      if (stuck.current) box.scrollTop = box.scrollHeight;
      else setAway(distance() >= SLACK_PX);
    });
    observer.observe(content.current);
    observer.observe(box);
    box.addEventListener("scroll", onScroll, { passive: true });
    box.addEventListener("click", onClick);
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", onScroll);
      box.removeEventListener("click", onClick);
    };
  }, []);

  // A chat opens at its end, and an empty page at its beginning.
  useEffect(() => {
    if (enabled) toBottom();
    else stuck.current = false;
  }, [chat, enabled, toBottom]);

  return { scroller, content, away, toBottom };
}
