// The search within the open chat: it goes from message to message, also to those that are not drawn, and marks the words.

import { useEffect, useMemo, useRef, useState } from "react";
import { focusComposer } from "../components/focus";
import { ArrowDownIcon, CloseIcon } from "../components/Icons";
import { closeFind, finding } from "../state/finding";
import { useStore } from "../state/store";
import type { Exchange } from "../turn/stored";
import { words as texts } from "./en";
import { mark, placesIn, unmark } from "./marks";
import { matchesIn, type Match } from "./matches";
import { revealTurn } from "./reveal";
import "./find.css";

const SCOPE = { question: ".question", answer: ".answer" } as const;

// Long: one bar, whose parts share its place in the list of matches.
export function FindBar({ exchanges }: { exchanges: readonly Exchange[] }) {
  const { words, opened } = useStore(finding);
  const wanted = words ?? "";
  const box = useRef<HTMLInputElement>(null);
  const matches = useMemo(() => matchesIn(exchanges, wanted), [exchanges, wanted]);
  const [place, setPlace] = useState<number | null>(null);
  // A search that another part of the page began goes to the oldest message, as that part showed it; typing to the newest.
  const at = Math.min(place ?? (opened === wanted ? 0 : Infinity), matches.length - 1);
  const current = matches[at];
  useEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, [opened]);
  useMarks(wanted, current);
  const go = (step: number) => matches.length > 0 && setPlace((at + step + matches.length) % matches.length);
  const close = () => {
    closeFind();
    focusComposer();
  };
  return (
    <div
      className="find-bar"
      role="search"
      data-testid="find-bar"
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key !== "Escape" && !(event.key === "Enter" && event.target === box.current)) return;
        event.preventDefault();
        event.stopPropagation();
        if (event.key === "Escape") close();
        else go(event.shiftKey ? -1 : 1);
      }}
    >
      <input
        ref={box}
        data-testid="find"
        dir="auto"
        aria-label={texts.label}
        placeholder={texts.label}
        autoComplete="off"
        maxLength={200}
        value={wanted}
        onChange={(event) => {
          setPlace(null);
          finding.set({ words: event.target.value });
        }}
      />
      <span className="find-place" role="status" data-testid="find-place">
        {wanted.trim() !== "" && (matches.length === 0 ? texts.none : texts.place(at + 1, matches.length))}
      </span>
      <button type="button" className="icon-button small find-up" title={texts.previous} disabled={matches.length === 0} onClick={() => go(-1)}>
        <ArrowDownIcon />
        <span className="visually-hidden">{texts.previous}</span>
      </button>
      <button type="button" className="icon-button small" title={texts.next} disabled={matches.length === 0} onClick={() => go(1)}>
        <ArrowDownIcon />
        <span className="visually-hidden">{texts.next}</span>
      </button>
      <button type="button" className="icon-button small" title={texts.close} onClick={close}>
        <CloseIcon />
        <span className="visually-hidden">{texts.close}</span>
      </button>
    </div>
  );
}

/** Scrolls to the current match, and keeps the marks while the chat draws other parts of itself. */
function useMarks(words: string, current: Match | undefined): void {
  const { turnId, part } = current ?? {};
  useEffect(() => {
    const chat = document.querySelector(".transcript-content");
    if (!chat) return;
    const scope = (turn: Element | null) => (part && turn ? turn.querySelector(SCOPE[part]) : null);
    const turnOf = () => (turnId === undefined ? null : chat.querySelector(`[data-turn-id="${CSS.escape(turnId)}"]`));
    const draw = () => {
      const here = scope(turnOf());
      mark(placesIn(chat, words), here ? placesIn(here, words)[0] : undefined);
    };
    let next = 0;
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(next);
      next = requestAnimationFrame(draw);
    });
    observer.observe(chat, { childList: true, subtree: true, characterData: true });
    draw();
    let isOver = false;
    if (turnId !== undefined) {
      void revealTurn(turnId).then((turn) => {
        const found = isOver ? null : scope(turn);
        if (!found) return;
        (placesIn(found, words)[0]?.startContainer.parentElement ?? found).scrollIntoView({ block: "center" });
      });
    }
    return () => {
      isOver = true;
      observer.disconnect();
      cancelAnimationFrame(next);
      unmark();
    };
  }, [words, turnId, part]);
}
