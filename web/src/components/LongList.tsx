// A long chat: only exchanges near the window are drawn. Heights are guessed until they are measured. A measurement above
// the window moves the scroll position, so that the reader's line stays in place.

import { useVirtualizer } from "@tanstack/react-virtual";
import type { ReactNode, RefObject } from "react";
import type { Exchange } from "../turn/stored";

interface Props {
  exchanges: readonly Exchange[];
  scroller: RefObject<HTMLDivElement>;
  draw: (exchange: Exchange) => ReactNode;
}

const GUESS_PX = 320;
/** The number of exchanges drawn beyond each edge of the window. */
const OVERSCAN = 4;

export function LongList({ exchanges, scroller, draw }: Props) {
  const list = useVirtualizer({
    count: exchanges.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => exchanges[index]?.turnId ?? index,
    estimateSize: () => GUESS_PX,
    overscan: OVERSCAN,
    // A chat opens at its end.
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
