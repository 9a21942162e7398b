// `make bench`: size, cold start, and what a turn costs, beside three floors (see workers.mjs and the floors themselves).
// It prints numbers, writes them as JSON and judges none. All processes play the same turns before the clock starts,
// because V8 optimises what runs often. Rounds are interleaved, so that whatever else the machine does meets all of them
// alike; a ratio is taken within a round, and its spread is the lowest and the highest round.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { session, turn } from "./client.mjs";
import { countTurns, medianCounts, storedByTurn } from "./counts.mjs";
import { DIALECTS, REACH } from "./dialects.mjs";
import { costOfMillion } from "./prices.mjs";
import { fixed, kilobytes, least, median, most, spread, table } from "./print.mjs";
import { MINUTE, SCENARIOS } from "./scenarios.mjs";
import { codeByCrate, sizes } from "./size.mjs";
import { countSyncs } from "./syncs.mjs";
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
    "counts-only": { type: "boolean" },
    "cold-only": { type: "boolean" },
    "dialects-only": { type: "boolean" },
    only: { type: "string", default: "" },
    json: { type: "string", default: "target/bench.json" },
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
  --floors-only   without Espalier
  --counts-only   what a turn asks of the platform, and no times
  --cold-only     the first request of a cold isolate, and nothing else
  --dialects-only the CPU of a turn over each dialect, and nothing else
  --only NAMES    with it: these scenarios, with commas ("direct/16,parallel/1")
  --json FILE     where the figures go as JSON (target/bench.json)`);
  process.exit();
}

/** The turns of a scenario that each of 16 threads plays before anything is timed. */
const WARMING_TURNS = 12;
const FLOORS = ["loop-d1", "loop", "pipe"];
const NAMES = options["floors-only"] ? FLOORS : ["espalier", ...FLOORS];
const DIRECTORY = ".wrangler/bench";

/** The figures of this run, as they are written. */
const figures = {};

// ---- size ----

function printSizes() {
  const parts = sizes();
  const total = (field) => parts.reduce((sum, part) => sum + part[field], 0);
  figures.size = Object.fromEntries(parts.map(({ path, bytes, gzip }) => [path, { bytes, gzip }]));
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
  const worker = await startWorker(name, llm.port, directory);
  await migrate(worker);
  worker.credentials = await session(worker);
  return worker;
}

// ---- cold start ----

// From the start of a bare workerd process (no Node, no wrangler) with this Worker alone to the end of its first
// answer, GET /api/health, and the first request alone, from the moment at which workerd listens. All numbers contain
// work of workerd itself, so the difference to a floor is the share of our code. At the edge the runtime runs already,
// and only that difference counts.
async function coldStart() {
  const seen = new Map(NAMES.map((name) => [name, []]));
  for (let round = 0; round < 2 * Number(options.rounds); round++) {
    for (const name of NAMES) {
      const directory = `${DIRECTORY}/cold`;
      mkdirSync(directory, { recursive: true });
      seen.get(name).push(await timeToFirstAnswer(name, directory));
    }
  }
  for (const [part, title] of [
    ["answer", "Cold start: bare workerd to its first answer, ms"],
    ["answer_cpu", "Cold start: bare workerd to its first answer, ms of CPU"],
    ["request", "The first request of a cold isolate, ms"],
    ["request_cpu", "The first request of a cold isolate, ms of CPU"],
  ]) {
    const times = (name) => seen.get(name).map((start) => start[part]);
    figures[`cold_${part}_ms`] = Object.fromEntries(NAMES.map((name) => [name, median(times(name))]));
    console.log(`\n${title}`);
    table([
      ["", "median", "lowest", "highest"],
      ...NAMES.map((name) => [name, ...[median, least, most].map((of) => fixed(of(times(name)), 1))]),
    ]);
  }
}

// ---- first turns ----

// A process's first turn, beside the first turn of a later thread and a later turn of a thread: milliseconds of one
// client to the end of each. The session before it is the process's first request. So the first difference is what the
// process does once (compiling functions at their first call, the configuration), and the second what a thread does once
// (its object, its tables).
async function firstTurns(llm) {
  const seen = { process: [], thread: [], later: [] };
  const timed = async (worker, thread) => {
    const started = performance.now();
    await turn(worker, SCENARIOS[0], thread);
    return performance.now() - started;
  };
  for (let round = 0; round < Number(options.rounds); round++) {
    const worker = await start(NAMES[0], llm);
    seen.process.push(await timed(worker, crypto.randomUUID()));
    for (let i = 0; i < 12; i++) {
      const thread = crypto.randomUUID();
      const [first, later] = [await timed(worker, thread), await timed(worker, thread)];
      // The first threads still compile what the first turn did not touch.
      if (i >= 4) {
        seen.thread.push(first);
        seen.later.push(later);
      }
    }
    await worker.miniflare.dispose();
  }
  const middle = Object.fromEntries(Object.entries(seen).map(([name, times]) => [name, median(times)]));
  figures.first_turn_ms = middle;
  console.log("\nThe first turn, 50 chunks, ms to its end");
  table([
    ["", "median", "lowest", "highest", "above the next line"],
    ...[
      ["of a process", "process", middle.process - middle.thread],
      ["of a thread", "thread", middle.thread - middle.later],
      ["a later one", "later"],
    ].map(([title, name, above]) => [
      title,
      ...[median, least, most].map((of) => fixed(of(seen[name]), 1)),
      above === undefined ? "" : fixed(above, 1),
    ]),
  ]);
}

// ---- turns ----

// One batch: `concurrency` clients, each with its own thread that had one turn before the clock starts, so that the
// numbers do not contain the creation of an object. With --fresh every turn begins a thread.
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

async function rounds(workers, scenario, concurrency) {
  const seen = new Map(workers.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(options.rounds); round++) {
    // Another one goes first each time.
    for (let i = 0; i < workers.length; i++) {
      const worker = workers[(i + round) % workers.length];
      seen.get(worker.name).push(await batch(worker, scenario, concurrency));
    }
  }
  return seen;
}

async function measure(workers, scenario, concurrency) {
  const seen = await rounds(workers, scenario, concurrency);
  const name = `${scenario.name}/${concurrency}`;
  figures.turns ??= {};
  figures.turns[name] = Object.fromEntries(
    [...seen].map(([name, rounds]) => [
      name,
      Object.fromEntries(Object.keys(rounds[0]).map((field) => [field, median(rounds.map((round) => round[field]))])),
    ]),
  );
  const first = seen.get(NAMES[0]);
  const of = (name, field) => seen.get(name).map((round) => round[field]);
  const ratio = (name, field) => {
    if (name === NAMES[0]) return "";
    return spread(of(name, field).map((value, round) => first[round][field] / value));
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

// ---- dialects ----

// The same turns over each dialect and over the native wire, in one process.
async function measureDialects(worker) {
  const wires = [worker, ...Object.keys(DIALECTS).map((name) => ({ ...worker, name }))];
  const wanted = ({ name }, concurrency) => !options.only || options.only.split(",").includes(`${name}/${concurrency}`);
  const scenarios = SCENARIOS.filter((scenario) => wanted(scenario, 1) || wanted(scenario, 16));
  await warm(wires, scenarios);
  figures.dialects = {};
  for (const scenario of scenarios) {
    for (const concurrency of [1, 16].filter((concurrency) => wanted(scenario, concurrency))) {
      const name = `${scenario.name}/${concurrency}`;
      const seen = await rounds(wires, scenario, concurrency);
      const native = seen.get(worker.name);
      const ratios = (name) => seen.get(name).map(({ cpu }, round) => cpu / native[round].cpu);
      figures.dialects[name] = Object.fromEntries(wires.map(({ name }) => [name, median(ratios(name))]));
      console.log(`\n${scenario.title}; ${concurrency} at a time. CPU of a turn, ms, and to the native wire (reach ${REACH})`);
      table(
        wires.map(({ name }, at) => [
          at ? name : "native",
          fixed(median(seen.get(name).map(({ cpu }) => cpu))),
          ...(at ? [spread(ratios(name)), median(ratios(name)) > REACH ? "beyond" : ""] : ["", ""]),
        ]),
      );
    }
  }
}

// ---- warming ----

// V8 optimises a function after it has run often, so a fresh process costs 10 to 15 % more than one that has served.
async function warm(workers, scenarios = SCENARIOS) {
  for (const scenario of scenarios) {
    for (const worker of workers) {
      const threads = Array.from({ length: 16 }, () => crypto.randomUUID());
      for (let i = 0; i < WARMING_TURNS; i++) await Promise.all(threads.map((thread) => turn(worker, scenario, thread)));
    }
  }
}

// ---- counts ----

async function printCounts(llm) {
  const worker = await start("counted", llm);
  figures.counts = {};
  for (const scenario of SCENARIOS) {
    figures.counts[scenario.name] = medianCounts(await countTurns(worker, scenario, 3));
  }
  figures.stored = {};
  for (const scenario of SCENARIOS) figures.stored[scenario.name] = await storedByTurn(worker, scenario);
  figures.counts.minute = medianCounts(await countTurns(worker, MINUTE, 1));
  await worker.miniflare.dispose();

  const names = Object.keys(figures.counts);
  console.log("\nWhat a turn asks of the platform (its thread had one before; minute: 50 chunks, one a second)");
  table([
    ["", ...names],
    ...Object.keys(figures.counts[names[0]])
      .filter((field) => !["object_bytes", "d1_bytes"].includes(field))
      .map((field) => [
        field.replaceAll("_", " "),
        ...names.map((name) => fixed(figures.counts[name][field], ["seconds", "d1_ms"].includes(field) ? 1 : 0)),
      ]),
  ]);

  console.log("\nWhat a turn leaves behind, bytes, and the time of D1 for it (means of 40)");
  table([
    ["", "object", "D1", "D1 ms"],
    ...Object.entries(figures.stored).map(([name, { object_bytes, d1_bytes, d1_ms }]) => [
      name,
      String(object_bytes),
      String(d1_bytes),
      fixed(d1_ms, 1),
    ]),
  ]);

  // A minute adds the same to every turn, whatever the turn does.
  const { direct, sequential, minute } = figures.counts;
  const added = (field) => minute[field] - direct[field];
  const long = Object.fromEntries(Object.keys(sequential).map((field) => [field, sequential[field] + added(field)]));
  figures.dollars_per_million = { "direct, 5 s": costOfMillion(direct, 5), "ten rounds, 60 s": costOfMillion(long, 60) };
  console.log("\nA million turns by Cloudflare's price list (prices.mjs), $, without what a plan includes");
  const costs = Object.entries(figures.dollars_per_million);
  table([
    ["", ...costs.map(([name]) => name)],
    ...Object.keys(costs[0][1]).map((item) => [item, ...costs.map(([, cost]) => fixed(cost[item], 1))]),
  ]);
}

// ---- the whole ----

if (!options["floors-only"] && !options["dialects-only"] && !options["cold-only"]) printSizes();
if (options["size-only"]) process.exit();

// Deletes the state of a run that was cut off.
rmSync(DIRECTORY, { recursive: true, force: true });
const llm = await startLlm();
try {
  console.log(`\n${cpus().length} × ${cpus()[0].model.trim()}, ${process.platform}, Node ${process.version}`);
  if (options["dialects-only"]) {
    const worker = await start(NAMES[0], llm);
    await measureDialects(worker);
    await worker.miniflare.dispose();
    await end();
  }
  if (!options["floors-only"] && !options["cold-only"]) await printCounts(llm);
  if (options["counts-only"]) await end();
  await coldStart();
  if (options["cold-only"]) await end();
  if (!options["floors-only"]) await firstTurns(llm);
  const workers = [];
  for (const name of options["floors-only"] ? NAMES : [...NAMES, "recording"]) workers.push(await start(name, llm));
  await warm(workers);
  for (const scenario of SCENARIOS) for (const concurrency of [1, 16]) await measure(workers, scenario, concurrency);
  if (!options["floors-only"]) await measureDialects(workers[0]);
  if (options.fsync) await countSyncs(workers);
  await Promise.all(workers.map(({ miniflare }) => miniflare.dispose()));
  await end();
} finally {
  llm.stop();
  rmSync(DIRECTORY, { recursive: true, force: true });
}

async function end() {
  writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  console.log(`\nThe figures are in ${options.json}.`);
  llm.stop();
  rmSync(DIRECTORY, { recursive: true, force: true });
  process.exit();
}
