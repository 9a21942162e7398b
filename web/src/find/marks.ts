// Marks words on screen without a change of the document, by the browser's highlights. A browser without them marks nothing.

const ALL = "found";
const CURRENT = "found-here";

/** The places of the words within an element's texts, in order. */
export function placesIn(element: Element, words: string): Range[] {
  const wanted = words.trim().toLowerCase();
  const places: Range[] = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); wanted !== "" && text; text = texts.nextNode()) {
    const inside = (text.nodeValue ?? "").toLowerCase();
    for (let at = inside.indexOf(wanted); at >= 0; at = inside.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + wanted.length);
      places.push(range);
    }
  }
  return places;
}

export function mark(all: readonly Range[], current: Range | undefined): void {
  if (typeof Highlight === "undefined") return;
  CSS.highlights.set(ALL, new Highlight(...all));
  CSS.highlights.set(CURRENT, new Highlight(...(current ? [current] : [])));
}

export function unmark(): void {
  if (typeof Highlight === "undefined") return;
  CSS.highlights.delete(ALL);
  CSS.highlights.delete(CURRENT);
}
