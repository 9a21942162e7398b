// Holds the release build to its recorded figures (recorded.json): the bytes of its module before wasm-opt, because V8
// reads the module at each start of an isolate, and the statements and rows of a turn. Only figures that do not depend on the
// machine stand there. `make bench` measures the rest.
//
// To raise a figure is a decision: the commit says why. To lower one, write what this script prints.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { session } from "./client.mjs";
import { countTurns, medianCounts } from "./counts.mjs";
import { SCENARIOS } from "./scenarios.mjs";
import { sizes } from "./size.mjs";
import { migrate, startWorker } from "./workers.mjs";

const recorded = JSON.parse(readFileSync(new URL("recorded.json", import.meta.url), "utf8"));
const directory = ".wrangler/figures";

const llm = fork(new URL("llm.mjs", import.meta.url));
const [{ port }] = await once(llm, "message");
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const worker = await startWorker("counted", port, directory);
await migrate(worker);
worker.credentials = await session(worker);

const seen = { raw_bytes: sizes().find(({ path }) => path.endsWith(".wasm")).bytes };
for (const scenario of SCENARIOS) {
  const counts = medianCounts(await countTurns(worker, scenario, 3));
  for (const field of ["object_statements", "object_rows_written", "d1_rows_written"]) seen[`${scenario.name}/${field}`] = counts[field];
}
await worker.miniflare.dispose();
llm.disconnect();
rmSync(directory, { recursive: true, force: true });

/** One per cent: the module holds paths of the machine that compiled it, and a small change needs no decision. */
const slack = (figure) => (figure === "raw_bytes" ? recorded.raw_bytes / 100 : 0);
const more = Object.keys(seen).filter((figure) => !(seen[figure] <= recorded[figure] + slack(figure)));
const less = Object.keys(seen).filter((figure) => seen[figure] < recorded[figure] - slack(figure));
for (const figure of more) console.error(`figures: ${figure} is ${seen[figure]}, recorded are ${recorded[figure]}`);
if (less.length) console.log(`figures: ${less.join(", ")} went down. tests/bench/recorded.json may say:\n${JSON.stringify(seen, null, 2)}`);
else console.log(`figures: ${Object.entries(seen).map(([figure, value]) => `${figure} ${value}`).join(", ")}`);
process.exit(more.length ? 1 : 0);
