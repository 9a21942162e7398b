// `make scale`: how far the service goes as it is built, from 1,000 to 100 million turns a day, against the platform's
// published limits. A calculation without chance: the same inputs give the same tables. The inputs are measured figures
// of the bench (measured.json) and the assumptions below; docs/scale.md holds the result, which `--check` compares.
//
//   node tests/bench/scale.mjs [--write | --check] [--figures target/bench.json]

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { costOfMillion, DOLLARS, MONTHLY_DOLLARS_PER_GB } from "./prices.mjs";

const { values: options } = parseArgs({
  options: {
    write: { type: "boolean" },
    check: { type: "boolean" },
    figures: { type: "string", default: "tests/bench/measured.json" },
  },
});
const figures = JSON.parse(readFileSync(options.figures, "utf8"));

/** Assumptions about use, and nothing about the code. */
const USE = {
  turns_per_user_day: 10,
  turns_per_thread: 8,
  // Ten rounds of tools within a minute; the other turns are answered directly within five seconds.
  long_share: 0.2,
  long_s: 60,
  direct_s: 5,
  // The busiest second against the mean of a day.
  peak: 4,
  // A thread with its answer is looked at so often: lists and messages, which read D1 and the object.
  reads_per_turn: 4,
  // Words of a real answer against the bench's 50: 400 words and their tree.
  payload: 4,
};

/** The platform's published limits. Sources: developers.cloudflare.com, /d1/platform/limits, /durable-objects/platform/limits
 * and /workers/platform/limits, read on 2026-11-23. */
const LIMITS = {
  d1_bytes: 10e9,
  object_bytes: 10e9,
  // A single object serves about so many requests a second (a soft limit).
  object_requests_per_s: 1000,
  // D1 works on one query at a time. Its documents name 1 ms for a quick query; a batch of writes is taken at this.
  d1_batch_ms: 5,
  d1_read_ms: 1,
};

const DAY_S = 86_400;
const MONTH_DAYS = 30;

const mix = (direct, long) => direct * (1 - USE.long_share) + long * USE.long_share;
const { direct, sequential, minute } = figures.counts;
const added = (field) => minute[field] - direct[field];
const long = Object.fromEntries(Object.keys(sequential).map((field) => [field, sequential[field] + added(field)]));
const stored = (field) => USE.payload * mix(figures.stored.direct[field], figures.stored.sequential[field]);

/** The needs of a mean turn. */
export const TURN = {
  seconds: mix(USE.direct_s, USE.long_s),
  cpu_ms: mix(figures.turns["direct/16"].espalier.cpu, figures.turns["sequential/16"].espalier.cpu),
  d1_ms: mix(direct.d1_queries, long.d1_queries) * LIMITS.d1_batch_ms + USE.reads_per_turn * LIMITS.d1_read_ms,
  d1_bytes: stored("d1_bytes"),
  object_bytes: stored("object_bytes"),
  // A record is mostly prompt and tools, so this is too much rather than too little.
  r2_bytes: USE.payload * mix(direct.r2_bytes, sequential.r2_bytes),
  dollars: Object.fromEntries(
    Object.entries(costOfMillion(direct, USE.direct_s)).map(([item, dollars]) => [
      item,
      mix(dollars, costOfMillion(long, USE.long_s)[item]) / 1e6,
    ]),
  ),
};

/** One day's turns as load, storage and money. */
export function at(turns) {
  const peak = (turns / DAY_S) * USE.peak;
  const month = turns * MONTH_DAYS;
  const gb = (bytes) => (bytes * month) / 1e9;
  return {
    users: turns / USE.turns_per_user_day,
    peak_turns_per_s: peak,
    running_at_peak: peak * TURN.seconds,
    // A core of somebody else's machine, but a figure to compare.
    cores_at_peak: (peak * TURN.cpu_ms) / 1000,
    d1_busy: (peak * TURN.d1_ms) / 1000,
    d1_gb_month: gb(TURN.d1_bytes),
    days_to_full_d1: LIMITS.d1_bytes / (turns * TURN.d1_bytes),
    objects_month: month / USE.turns_per_thread,
    object_gb_month: gb(TURN.object_bytes),
    r2_gb_month: gb(TURN.r2_bytes),
    dollars_month: Object.fromEntries(
      Object.entries({
        ...Object.fromEntries(Object.entries(TURN.dollars).filter(([item]) => item !== "in all")),
        "reads of lists and messages": USE.reads_per_turn * (DOLLARS.worker_request + DOLLARS.object_request),
        "Worker CPU": TURN.cpu_ms * DOLLARS.worker_cpu_ms,
        "storage, first month": (TURN.d1_bytes * MONTHLY_DOLLARS_PER_GB.d1 +
            TURN.object_bytes * MONTHLY_DOLLARS_PER_GB.object +
            TURN.r2_bytes * MONTHLY_DOLLARS_PER_GB.r2) /
          1e9,
      }).map(([item, dollars]) => [item, dollars * month]),
    ),
  };
}

/** The turns a day at which a limit is met, the lowest first. */
export function limits() {
  const perDay = (perSecond) => (perSecond * DAY_S) / USE.peak;
  const list = [
    {
      limit: "D1 is full after a year (10 GB a database)",
      turns: LIMITS.d1_bytes / (365 * TURN.d1_bytes),
      mend: "a retention period; then one database for each group of owners, named by a hash of the owner",
    },
    {
      limit: "D1 is full after a month",
      turns: LIMITS.d1_bytes / (MONTH_DAYS * TURN.d1_bytes),
      mend: "the same, with as many databases as there are months to keep",
    },
    {
      limit: "D1 is busy all the time at the peak (one query at a time)",
      turns: perDay(1000 / TURN.d1_ms),
      mend: "the same databases by owner; several turns of an object in one batch; lists from read replicas near the user",
    },
    {
      limit: "one tenant's quota object takes two requests a turn (1,000 requests a second)",
      turns: perDay(LIMITS.object_requests_per_s / 2),
      mend: "a tenant's quota in several objects, each with a share of it",
    },
    {
      limit: "one thread's object is full (10 GB)",
      turns: null,
      note: `after ${round(LIMITS.object_bytes / TURN.object_bytes)} turns of one thread; events are trimmed before (EVENT_TURNS)`,
      mend: "not needed",
    },
  ];
  return list.sort((a, b) => (a.turns ?? Infinity) - (b.turns ?? Infinity));
}

function round(value) {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toLocaleString("en-US", { maximumSignificantDigits: 2 });
}

const markdown = (rows) => {
  const [head, ...body] = rows.map((row) => `| ${row.join(" | ")} |`);
  return [head, `|${rows[0].map((_, i) => (i ? "--:|" : "---|")).join("")}`, ...body].join("\n");
};

function tables() {
  const turns = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
  const days = turns.map(at);
  const row = (title, value) => [title, ...days.map((day) => round(value(day)))];
  const load = markdown([
    ["turns a day", ...turns.map(round)],
    row("users a day", (day) => day.users),
    row("turns a second at the peak", (day) => day.peak_turns_per_s),
    row("turns that run at the peak", (day) => day.running_at_peak),
    row("cores at the peak", (day) => day.cores_at_peak),
    row("share of one D1's time at the peak, %", (day) => 100 * day.d1_busy),
    row("D1, GB a month", (day) => day.d1_gb_month),
    row("days until one D1 is full", (day) => day.days_to_full_d1),
    row("new objects a month", (day) => day.objects_month),
    row("objects, GB a month", (day) => day.object_gb_month),
    row("R2, GB a month", (day) => day.r2_gb_month),
  ]);
  const items = Object.keys(days[0].dollars_month);
  const sum = (day) => Object.values(day.dollars_month).reduce((sum, dollars) => sum + dollars);
  const cost = markdown([
    ["$ a month at turns a day", ...turns.map(round)],
    ...items.map((item) => row(item, (day) => day.dollars_month[item])),
    row("in all", sum),
  ]);
  const met = markdown([
    ["limit", "met at turns a day", "mend"],
    ...limits().map(({ limit, turns, note, mend }) => [limit, note ?? round(turns), mend]),
  ]);
  return { load, cost, limits: met };
}

const file = "docs/scale.md";
const made = tables();
const before = readFileSync(file, "utf8");
const after = before.replace(/(<!-- (\w+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, begin, name, end) => `${begin}\n${made[name]}\n\n${end}`);
if (options.write) writeFileSync(file, after);
else if (!options.check) console.log(Object.values(made).join("\n\n"));
else if (before !== after) {
  console.error(`scale: ${file} is not what the figures say; make scale ARGS=--write writes it`);
  process.exit(1);
}
