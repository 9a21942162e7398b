// The keys that send a text: those of the composer and of the box in which a question is edited.

import { settings } from "../state/settings";

interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  /** Such keys choose a word of an input method. */
  isComposing: boolean;
}

/** What a key does: `now` sends in place of the answer in progress. Null: the key writes, or moves. */
export type Sending = "send" | "now" | null;

/** `enterSends`: Enter alone sends. Otherwise it begins a line, Ctrl+Enter sends, and with Shift it sends now. */
export function sendingOf({ key, shiftKey, ctrlKey, metaKey, isComposing }: Pressed, enterSends: boolean): Sending {
  const command = ctrlKey || metaKey;
  if (key !== "Enter" || isComposing || (shiftKey && !command)) return null;
  if (enterSends) return command ? "now" : "send";
  if (!command) return null;
  return shiftKey ? "now" : "send";
}

/** A touch keyboard has no Shift+Enter: there Enter begins a line, and the button sends. */
export function enterSendsHere(): boolean {
  return settings.get().enterSends && !window.matchMedia("(pointer: coarse)").matches;
}
