// Numbers and tables of the benchmark.

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
export const least = (values) => Math.min(...values);
export const most = (values) => Math.max(...values);
export const fixed = (value, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits) : "–");
export const kilobytes = (bytes) => `${fixed(bytes / 1000, 1)} kB`;
/** The middle of ratios, in brackets the lowest and the highest. */
export const spread = (ratios) => `${fixed(median(ratios))}× (${fixed(least(ratios))}–${fixed(most(ratios))})`;

export function table(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row) => row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join("  ");
  console.log(rows.map((row) => `  ${line(row).trimEnd()}`).join("\n"));
}
