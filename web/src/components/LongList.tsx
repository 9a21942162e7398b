// A long chat: only what is near the window is drawn. Heights are guessed until they are measured; what is measured
// above the window moves the scroll position along, so that the reader's line stays.

import { useVirtualizer } from "@tanstack/react-virtual";
import type { ReactNode, RefObject } from "react";
import type { Exchange } from "../turn/stored";

interface Props {
  exchanges: readonly Exchange[];
  scroller: RefObject<HTMLDivElement>;
  draw: (exchange: Exchange) => ReactNode;
}

const GUESS_PX = 320;
/** Drawn beyond each edge of the window. */
const OVERSCAN = 4;

export function LongList({ exchanges, scroller, draw }: Props) {
  const list = useVirtualizer({
    count: exchanges.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => exchanges[index]?.turnId ?? index,
    estimateSize: () => GUESS_PX,
    overscan: OVERSCAN,
    // A chat is opened at its end.
    initialOffset: exchanges.length * GUESS_PX,
  });
  return (
    <div className="long-list" style={{ height: `${list.getTotalSize()}px` }}>
      {list.getVirtualItems().map((item) => {
        const exchange = exchanges[item.index];
        return (
          exchange && (
            <div
              key={item.key}
              ref={list.measureElement}
              className="long-list-item"
              data-index={item.index}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {draw(exchange)}
            </div>
          )
        );
      })}
    </div>
  );
}
