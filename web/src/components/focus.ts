// Where the keyboard goes on after an act whose button disappears.

/** The id of the text box in which messages are written. */
export const COMPOSER_ID = "composer";

/** Goes on in the composer. On a touch screen its keyboard would hide the chat. */
export function focusComposer(): void {
  if (window.matchMedia("(pointer: fine)").matches) document.getElementById(COMPOSER_ID)?.focus();
}

/** Focuses an element after the next drawing, unless the person has moved the focus meanwhile. */
export function focusNext(find: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() => {
    const at = document.activeElement;
    if (at === null || at === document.body) find()?.focus();
  });
}

/** The row beside this one, to go on from when this one is deleted: the next, or else the one before. */
export function neighbour(row: Element | null | undefined): Element | null {
  return row?.nextElementSibling ?? row?.previousElementSibling ?? null;
}
