// Espalier and the floors, each in a workerd process of its own, from one binary and with the same bindings.
//
// Miniflare starts them as `wrangler dev` does, but the requests go to a socket of the Worker's own: wrangler's proxy
// and Miniflare's entry would add the same milliseconds to all of them and so draw every ratio towards 1.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { Miniflare } from "miniflare";
import workerd from "workerd"; // the path of the binary, under `default`

/** The folder of the Worker that is measured: the deployed one, unless ESPALIER_BUILD names another. */
export const BUILD = process.env.ESPALIER_BUILD ?? "build";
const script = (path) => ({ [path]: { type: "esm", contents: readFileSync(path, "utf8") } });
const wasm = (path) => ({ [path]: { type: "wasm", contents: new Uint8Array(readFileSync(path)) } });
const MODULES = {
  // `counted.js` imports it by this name.
  espalier: () => ({
    "build/index.js": script(`${BUILD}/index.js`)[`${BUILD}/index.js`],
    "build/index_bg.wasm": wasm(`${BUILD}/index_bg.wasm`)[`${BUILD}/index_bg.wasm`],
  }),
  recording: () => MODULES.espalier(),
  counted: () => ({ ...script("tests/bench/counted.js"), ...script("tests/bench/watch.js"), ...MODULES.espalier() }),
  "loop-d1": () => script("tests/bench/floor-loop-d1.js"),
  loop: () => script("tests/bench/floor-loop.js"),
  pipe: () => script("tests/bench/floor-pipe.js"),
};
/** Class and binding of a Worker's object: the floor with D1 is as its author named it. */
const OBJECT = (name) => (name === "loop-d1" ? { className: "Turn", binding: "TURN" } : { className: "ThreadObject", binding: "THREADS" });
const VARS = {
  AUTH_ANONYMOUS: "true",
  SESSION_SECRET: "a secret of the benchmark and of nothing else",
  ALLOWED_ORIGINS: "",
  LIMITS: "{}",
  LLM_PROVIDER: "openai",
  LLM_BASE_URL: "http://127.0.0.1:9/v1",
  LLM_API_KEY: "sk-bench",
  LLM_MODEL: "bench-model",
};
/** The workers that are Espalier. `espalier` keeps no records of its turns, as the floors keep none: Miniflare plays R2 in
    the very process that is measured, and a put costs 2 ms of its CPU there. `recording` keeps them, and so does `counted`,
    whose rows and writes are the deployment's. */
export const OURS = ["espalier", "recording", "counted"];
const compatibilityDate = /^compatibility_date = "(.*)"/m.exec(readFileSync("wrangler.toml", "utf8"))[1];

export async function startWorker(name, llmPort, directory) {
  const before = new Set(workerds());
  const records = name === "espalier" ? { RECORD_TURNS: "0" } : {};
  const vars = { ...VARS, ...records, LLM_BASE_URL: `http://127.0.0.1:${llmPort}/v1` };
  const modules = MODULES[name]();
  const { className, binding } = OBJECT(name);
  const miniflare = new Miniflare({
    workers: [
      {
        config: {
          name,
          compatibilityDate,
          manifest: { mainModule: Object.keys(modules)[0], modulesRoot: process.cwd(), modules },
          exports: { [className]: { type: "durable-object", storage: "sqlite" } },
          env: {
            [binding]: { type: "durable-object", worker: name, exportName: className },
            DB: { type: "d1", id: "espalier" },
            WORKSPACE: { type: "r2", name: "espalier-workspace" },
            ...Object.fromEntries(Object.entries(vars).map(([key, value]) => [key, { type: "text", value }])),
          },
        },
        dev: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] },
      },
    ],
    // On a disk, so that an fsync really writes.
    resourcePersistencePath: directory,
    cf: false,
  });
  const url = await miniflare.unsafeGetDirectURL();
  const pid = workerds().find((pid) => !before.has(pid));
  return { name, miniflare, url, pid };
}

// The same Worker in a bare workerd, with no database: milliseconds from spawning it to the end of its first answer, and
// how many of them its first request took, by the clock and of CPU.
export async function timeToFirstAnswer(name, directory) {
  const { className, binding } = OBJECT(name);
  const list = Object.entries(MODULES[name]()).map(([path, { type, contents }], i) => {
    writeFileSync(`${directory}/${i}`, contents);
    return `(name = "${basename(path)}", ${type === "esm" ? "esModule" : "wasm"} = embed "${i}")`;
  });
  const bindings = Object.entries(VARS).map(([key, value]) => `(name = "${key}", text = ${JSON.stringify(value)})`);
  writeFileSync(
    `${directory}/config.capnp`,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "disk", disk = (path = "${resolve(directory)}", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${list.join(", ")}],
  compatibilityDate = "${compatibilityDate}",
  bindings = [(name = "${binding}", durableObjectNamespace = "${className}"), ${bindings.join(", ")}],
  durableObjectNamespaces = [(className = "${className}", uniqueKey = "bench", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
);`,
  );
  const spawned = performance.now();
  const child = spawn(workerd.default, ["serve", "--control-fd=3", `${directory}/config.capnp`], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const [message] = await once(child.stdio[3], "data");
  const ready = performance.now();
  const used = cpuMs(child.pid);
  const response = await fetch(`http://127.0.0.1:${JSON.parse(message).port}/api/health`);
  await response.arrayBuffer();
  const answered = performance.now();
  const all = cpuMs(child.pid);
  child.kill();
  await once(child, "exit");
  return { answer: answered - spawned, request: answered - ready, answer_cpu: all, request_cpu: all - used };
}

export async function migrate({ name, miniflare, url }) {
  if (name === "loop-d1") return void (await fetch(`${url}migrate`));
  if (!OURS.includes(name)) return;
  const database = await miniflare.getD1Database("DB");
  for (const file of readdirSync("migrations").sort()) {
    const sql = readFileSync(`migrations/${file}`, "utf8").replace(/--.*$/gm, "");
    // The statements within a trigger are indented.
    for (const statement of sql.split(/;\s*^(?! |END)/m)) if (statement.trim()) await database.prepare(statement).run();
  }
}

function workerds() {
  const list = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
  return list
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, ppid, ...comm]) => Number(ppid) === process.pid && comm.join(" ").includes("workerd"))
    .map(([pid]) => Number(pid));
}

// The CPU milliseconds of a process, user and system. Linux counts each thread in nanoseconds; elsewhere `ps` knows
// hundredths of a second, so the runs there must be longer.
export function cpuMs(pid) {
  if (process.platform === "linux") {
    let ns = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    }
    return ns / 1e6;
  }
  const time = execFileSync("ps", ["-o", "time=", "-p", String(pid)], { encoding: "utf8" }).trim();
  return time.split(/[:-]/).reduce((total, part) => total * 60 + Number(part), 0) * 1000;
}
