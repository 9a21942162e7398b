// The chats of the list by the time of their last message: today, yesterday, and so on, as this browser's clock has it.

import { en } from "../en";
import type { ThreadSummary } from "../wire";

export interface DayGroup {
  label: string;
  threads: ThreadSummary[];
}

const DAY_MS = 86_400_000;

/** Made on first use: most lists need none. */
let months: Intl.DateTimeFormat | null = null;

/** The pinned ones, then newest first, as the list is. */
export function byDay(threads: readonly ThreadSummary[], now: number): DayGroup[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const groups: DayGroup[] = [];
  for (const thread of threads) {
    const label = thread.pinned_at ? en.sidebar.pinned : labelOf(thread.updated_at, midnight);
    const group = groups.find((each) => each.label === label);
    if (group) group.threads.push(thread);
    else groups.push({ label, threads: [thread] });
  }
  return groups;
}

function labelOf(at: number, midnight: number): string {
  const days = Math.ceil((midnight - at) / DAY_MS);
  if (days <= 0) return en.sidebar.today;
  // A day on which the clock changes has 23 or 25 hours.
  const yesterday = new Date(midnight - DAY_MS / 2).setHours(0, 0, 0, 0);
  if (at >= yesterday) return en.sidebar.yesterday;
  if (days <= 7) return en.sidebar.week;
  if (days <= 30) return en.sidebar.month;
  months ??= new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });
  return months.format(at);
}
