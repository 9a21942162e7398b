// Notifications of the browser about answers that end, or wait for the person, while the page is hidden. They are off until
// the person turns them on, and the browser is asked for its permission at that click only.

import { keep, kept } from "../state/kept";
import { Store } from "../state/store";
import { words } from "./en";

const KEY = "espalier.notifications";

/** `blocked`: the browser forbids them. */
export type Wanted = "on" | "off" | "blocked";

export const notifications = new Store<{ wanted: Wanted }>({ wanted: "off" }, true);

/** Whether this browser knows notifications. */
export function canNotify(): boolean {
  return typeof Notification !== "undefined";
}

/** Reads the person's choice, and the browser's, which the person may have changed meanwhile. */
export function readWanted(): void {
  const on = canNotify() && kept(KEY) === "on";
  notifications.set({ wanted: !on ? "off" : Notification.permission === "granted" ? "on" : "blocked" });
}

/** Turns notifications on, if the browser allows them, or off. */
export async function want(on: boolean): Promise<void> {
  keep(KEY, on ? "on" : null);
  if (on && canNotify() && Notification.permission === "default") await Notification.requestPermission();
  readWanted();
}

/** The turns of which the person was told since the page was hidden. */
const told = new Set<string>();

/** Tells the person of a turn, once while the page is hidden. `act` shows its chat. The chat's title is all that it says of the chat. */
export function notify(turnId: string, title: string, what: keyof typeof words.body, act: () => void): void {
  if (!canNotify() || kept(KEY) !== "on" || Notification.permission !== "granted") return;
  if (document.visibilityState !== "hidden" || told.has(turnId)) return;
  told.add(turnId);
  try {
    // Other tabs of this chat tell the same turn: the tag makes one notification of theirs.
    const shown = new Notification(title, { body: words.body[what], tag: turnId });
    shown.onclick = () => {
      shown.close();
      window.focus();
      act();
    };
  } catch {
    // Some browsers know notifications of service workers alone.
    keep(KEY, null);
  }
}

/** The person is back. */
export function seen(): void {
  told.clear();
}
