// Sizes and times in words.

import { en } from "../en";

/** Decimal units, as in the marks of a stored message (`1 kB`); one decimal below ten. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [size, unit] = bytes < 999_500 ? [bytes / 1e3, "kB"] : [bytes / 1e6, "MB"];
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, "") : Math.round(size)} ${unit}`;
}

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
/** Older times are shown as a date. */
const DATE_AFTER_MS = 7 * 86_400_000;

export function agoText(at: number, now: number): string {
  const age = now - at;
  if (age >= DATE_AFTER_MS) return DAY.format(at);
  const [unit, ms] = UNITS.find(([, ms]) => age >= ms) ?? [null, 0];
  return unit === null ? en.figures.justNow : AGO.format(-Math.floor(age / ms), unit);
}
