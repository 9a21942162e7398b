// Cloudflare's price list for paid plans, in dollars, and a turn's cost by it. Nothing of what a plan includes is taken
// off. Sources: developers.cloudflare.com/workers/platform/pricing and /durable-objects/platform/pricing,
// /d1/platform/pricing and /r2/pricing.

export const DOLLARS = {
  worker_request: 0.3 / 1e6,
  worker_cpu_ms: 0.02 / 1e6,
  object_request: 0.15 / 1e6,
  object_gb_s: 12.5 / 1e6,
  row_written: 1 / 1e6,
  row_read: 0.001 / 1e6,
  r2_class_a: 4.5 / 1e6,
};
/** Storage, by the month. */
export const MONTHLY_DOLLARS_PER_GB = { d1: 0.75, object: 0.2, r2: 0.015 };
/** An object is billed for 128 MB for as long as it is in memory. */
const OBJECT_GB = 128 / 1000;

/** Dollars for a million turns of this many seconds, by item. A turn is one request to the Worker and one to its object;
 * its alarms are requests as well, and an alarm that is set is a row written. */
export function costOfMillion(counts, seconds) {
  const objectRows = counts.object_rows_written + counts.alarms_set;
  const items = {
    requests: DOLLARS.worker_request + (counts.requests - 1 + counts.alarms) * DOLLARS.object_request,
    duration: seconds * OBJECT_GB * DOLLARS.object_gb_s,
    "rows written, object": objectRows * DOLLARS.row_written,
    "rows written, D1": counts.d1_rows_written * DOLLARS.row_written,
    "R2 writes": counts.r2_class_a * DOLLARS.r2_class_a,
    "rows read": (counts.object_rows_read + counts.d1_rows_read) * DOLLARS.row_read,
  };
  const million = Object.fromEntries(Object.entries(items).map(([item, dollars]) => [item, dollars * 1e6]));
  return { ...million, "in all": Object.values(million).reduce((sum, dollars) => sum + dollars) };
}
