// Whether the browser tells the person of answers that end, or wait, while the page is hidden.

import { useEffect } from "react";
import { useStore } from "../state/store";
import { words } from "./en";
import { canNotify, notifications, readWanted, want } from "./notifications";

export function NotificationsSetting() {
  const { wanted } = useStore(notifications);
  useEffect(readWanted, []);
  if (!canNotify()) return null;
  return (
    <section className="setting">
      <h3>{words.title}</h3>
      <label className="choice">
        <input
          type="checkbox"
          data-testid="notifications"
          checked={wanted === "on"}
          aria-describedby="notifications-note"
          onChange={(event) => void want(event.target.checked)}
        />
        <span>{words.label}</span>
      </label>
      <p id="notifications-note" className="setting-note" role={wanted === "blocked" ? "alert" : undefined}>
        {wanted === "blocked" ? words.blocked : words.note}
      </p>
    </section>
  );
}
