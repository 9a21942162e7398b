// Counts in real workerd what a turn asks of the platform: rows, statements, alarms, requests. Counts do not depend on
// the machine, so `make test` holds them to recorded figures (figures.mjs).
//
// A count is the turn's own: it is taken when the thread has nothing left to do, so that what is told to D1 after the
// answer is in it. The thread had a turn before, so that making its tables is not.

import { setTimeout as sleep } from "node:timers/promises";
import { turn } from "./client.mjs";
import { SCENARIOS } from "./scenarios.mjs";

/** The counts since the last call, once no object has work left. */
async function taken(worker) {
  for (;;) {
    const response = await fetch(`${worker.url}counts`);
    if (response.status === 200) return response.json();
    if (response.status !== 409) throw new Error(`no counts: ${response.status} ${await response.text()}`);
    await sleep(20);
  }
}

/** The counts of `turns` turns of a scenario in one thread, one by one. */
export async function countTurns(worker, scenario, turns) {
  const thread = crypto.randomUUID();
  await turn(worker, SCENARIOS[0], thread);
  await taken(worker);
  const counts = [];
  for (let i = 0; i < turns; i++) {
    const started = performance.now();
    await turn(worker, scenario, thread);
    const seconds = (performance.now() - started) / 1000;
    counts.push({ ...(await taken(worker)), seconds });
  }
  return counts;
}

/** The median of each count. */
export function medianCounts(counts) {
  const middle = (field) => counts.map((count) => count[field]).sort((a, b) => a - b)[counts.length >> 1];
  return Object.fromEntries(Object.keys(counts[0]).map((field) => [field, middle(field)]));
}

/** The bytes that one turn of a scenario leaves in its object and in D1, and the time that D1 takes for it: means of
 * many, because databases grow by pages and the clock has whole milliseconds. */
export async function storedByTurn(worker, scenario, turns = 40) {
  const counts = await countTurns(worker, scenario, turns + 1);
  const [first, last] = [counts[0], counts.at(-1)];
  const grown = (field) => Math.round((last[field] - first[field]) / turns);
  const d1_ms = counts.slice(1).reduce((sum, count) => sum + count.d1_ms, 0) / turns;
  return { object_bytes: grown("object_bytes"), d1_bytes: grown("d1_bytes"), d1_ms };
}
