// The fsync and fdatasync of a turn, counted with strace.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { turn } from "./client.mjs";
import { fixed, table } from "./print.mjs";
import { SCENARIOS } from "./scenarios.mjs";

/** Prints how often a turn waits for the disk, by worker and scenario. */
export async function countSyncs(workers) {
  console.log("\nfsync and fdatasync per turn (one thread, its second turn and later; D1's are in it)");
  const rows = [["", ...SCENARIOS.map(({ name }) => name)]];
  for (const worker of workers.filter(({ name }) => name !== "pipe")) {
    const row = [worker.name];
    for (const scenario of SCENARIOS) {
      const thread = crypto.randomUUID();
      await turn(worker, scenario, thread);
      const strace = spawn("strace", ["-f", "-e", "trace=fsync,fdatasync", "-p", String(worker.pid)]);
      let text = "";
      strace.stderr.on("data", (bytes) => (text += bytes));
      await Promise.race([once(strace, "error"), once(strace.stderr, "data")]);
      const turns = 8;
      for (let i = 0; i < turns; i++) await turn(worker, scenario, thread);
      strace.kill("SIGINT");
      await once(strace, "close");
      row.push(fixed((text.match(/(?:fsync|fdatasync)\(/g) ?? []).length / turns, 1));
    }
    rows.push(row);
  }
  table(rows);
}
