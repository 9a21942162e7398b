// `make bench`: size, cold start, and what a turn costs, beside two floors (see workers.mjs and the floors themselves).
// It prints numbers and judges none. Rounds are interleaved, so that whatever else the machine does meets all three
// alike; a ratio is taken within a round, and its spread is the lowest and the highest round.

import { spawn, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { session, turn } from "./client.mjs";
import { codeByCrate, sizes } from "./size.mjs";
import { cpuMs, migrate, startWorker, timeToFirstAnswer } from "./workers.mjs";

const { values: options } = parseArgs({
  options: {
    help: { type: "boolean" },
    rounds: { type: "string", default: "5" },
    scale: { type: "string", default: "1" },
    pace: { type: "string", default: "0" },
    fresh: { type: "boolean" },
    fsync: { type: "boolean" },
    "size-only": { type: "boolean" },
    "floors-only": { type: "boolean" },
  },
});
if (options.help) {
  console.log(`make bench ARGS="…"
  --rounds N      interleaved rounds (5)
  --scale N       turns per round, times N (1)
  --pace MS       time between the model's chunks (0)
  --fresh         a new thread for every turn
  --fsync         count fsync and fdatasync per turn (needs strace)
  --size-only     sizes, and no runs
  --floors-only   without Espalier`);
  process.exit();
}

const SCENARIOS = [
  { name: "direct", title: "50 chunks, no tools", words: 50, tools: 0, replies: 1, turns: { 1: 24, 16: 96 } },
  { name: "parallel", title: "8 parallel tool calls", words: 5, tools: 8, replies: 2, turns: { 1: 16, 16: 64 } },
  { name: "sequential", title: "10 tool rounds, one after another", words: 5, tools: 10, replies: 11, turns: { 1: 8, 16: 32 } },
];
const NAMES = options["floors-only"] ? ["loop", "pipe"] : ["espalier", "loop", "pipe"];
const DIRECTORY = ".wrangler/bench";

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const least = (values) => Math.min(...values);
const most = (values) => Math.max(...values);
const fixed = (value, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits) : "–");
const kilobytes = (bytes) => `${fixed(bytes / 1000, 1)} kB`;

function table(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row) => row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join("  ");
  console.log(rows.map((row) => `  ${line(row).trimEnd()}`).join("\n"));
}

// ---- size ----

function printSizes() {
  const parts = sizes();
  const total = (field) => parts.reduce((sum, part) => sum + part[field], 0);
  console.log("\nSize");
  table([
    ["", "bytes", "gzip -9"],
    ...parts.map(({ path, bytes, gzip }) => [path, kilobytes(bytes), kilobytes(gzip)]),
    ["in all", kilobytes(total("bytes")), kilobytes(total("gzip"))],
  ]);

  const crates = codeByCrate();
  console.log("\nCode by crate, as linked (before wasm-opt)");
  if (!crates) return console.log('  not there: `make bench` builds the code with its names for it');
  const code = crates.reduce((sum, [, bytes]) => sum + bytes, 0);
  const share = (bytes) => `${fixed((100 * bytes) / code, 1)} %`;
  const shown = crates.filter(([, bytes]) => bytes / code >= 0.01);
  const rest = code - shown.reduce((sum, [, bytes]) => sum + bytes, 0);
  table([
    ["", "code", ""],
    ...shown.map(([crate, bytes]) => [crate, kilobytes(bytes), share(bytes)]),
    [`${crates.length - shown.length} others`, kilobytes(rest), share(rest)],
    ["in all", kilobytes(code), ""],
  ]);
}

// ---- processes ----

async function startLlm() {
  const child = fork(new URL("llm.mjs", import.meta.url), { env: { ...process.env, PACE_MS: options.pace } });
  const [{ port }] = await once(child, "message");
  return { port, stop: () => child.disconnect() };
}

let run = 0;
async function start(name, llm) {
  const directory = `${DIRECTORY}/${name}-${run++}`;
  mkdirSync(directory, { recursive: true });
  return startWorker(name, llm.port, directory);
}

// ---- cold start ----

// From the start of a bare workerd process (no Node, no wrangler) that holds this Worker alone to the end of its first
// answer, GET /api/health. Starting workerd itself is in it, the same for all: the difference to a floor is what our
// code adds. At the edge the runtime is there already, and only that difference counts.
async function coldStart() {
  const seen = new Map(NAMES.map((name) => [name, []]));
  for (let round = 0; round < 2 * Number(options.rounds); round++) {
    for (const name of NAMES) {
      const directory = `${DIRECTORY}/cold`;
      mkdirSync(directory, { recursive: true });
      seen.get(name).push(await timeToFirstAnswer(name, directory));
    }
  }
  console.log("\nCold start: bare workerd to its first answer, ms");
  table([
    ["", "median", "lowest", "highest"],
    ...NAMES.map((name) => [name, ...[median, least, most].map((of) => fixed(of(seen.get(name)), 1))]),
  ]);
}

// ---- turns ----

// One batch: `concurrency` clients, each with a thread of its own that has had one turn before the clock starts, so that
// creating an object is not in the numbers. With --fresh every turn begins a thread.
async function batch(worker, scenario, concurrency) {
  const threads = Array.from({ length: concurrency }, () => crypto.randomUUID());
  await Promise.all(threads.map((thread) => turn(worker, scenario, thread)));
  let left = Math.max(concurrency, Math.round(scenario.turns[concurrency] * Number(options.scale)));
  const count = left;
  const events = [];
  const texts = [];
  const cpu = cpuMs(worker.pid);
  const started = performance.now();
  await Promise.all(
    threads.map(async (thread) => {
      while (left-- > 0) {
        const id = options.fresh ? crypto.randomUUID() : thread;
        const { firstEvent, firstText } = await turn(worker, scenario, id);
        events.push(firstEvent);
        texts.push(firstText);
      }
    }),
  );
  return {
    event: median(events),
    text: median(texts),
    rate: count / ((performance.now() - started) / 1000),
    cpu: (cpuMs(worker.pid) - cpu) / count,
  };
}

async function measure(workers, scenario, concurrency) {
  const seen = new Map(workers.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(options.rounds); round++) {
    // Another one goes first each time.
    for (let i = 0; i < workers.length; i++) {
      const worker = workers[(i + round) % workers.length];
      seen.get(worker.name).push(await batch(worker, scenario, concurrency));
    }
  }
  const first = seen.get(NAMES[0]);
  const of = (name, field) => seen.get(name).map((round) => round[field]);
  const ratio = (name, field) => {
    if (name === NAMES[0]) return "";
    const ratios = of(name, field).map((value, round) => first[round][field] / value);
    return `${fixed(median(ratios))}× (${fixed(least(ratios))}–${fixed(most(ratios))})`;
  };
  console.log(`\n${scenario.title}; ${concurrency} at a time. Ratios: ${NAMES[0]} to that floor, in brackets lowest and highest round`);
  table([
    ["", "first event ms", "", "first text ms", "", "turns/s", "", "CPU ms/turn", ""],
    ...workers.map(({ name }) => [
      name,
      fixed(median(of(name, "event"))),
      ratio(name, "event"),
      fixed(median(of(name, "text"))),
      ratio(name, "text"),
      fixed(median(of(name, "rate")), 1),
      ratio(name, "rate"),
      fixed(median(of(name, "cpu"))),
      ratio(name, "cpu"),
    ]),
  ]);
}

// ---- fsync ----

async function countSyncs(workers) {
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

// ---- the whole ----

if (!options["floors-only"]) printSizes();
if (options["size-only"]) process.exit();

const llm = await startLlm();
try {
  console.log(`\n${cpus().length} × ${cpus()[0].model.trim()}, ${process.platform}, Node ${process.version}`);
  await coldStart();
  const workers = [];
  for (const name of NAMES) {
    const worker = await start(name, llm);
    if (name === "espalier") await migrate(worker);
    worker.credentials = await session(worker);
    workers.push(worker);
  }
  for (const scenario of SCENARIOS) for (const concurrency of [1, 16]) await measure(workers, scenario, concurrency);
  if (options.fsync) await countSyncs(workers);
  await Promise.all(workers.map(({ miniflare }) => miniflare.dispose()));
} finally {
  llm.stop();
  rmSync(DIRECTORY, { recursive: true, force: true });
}
process.exit();
