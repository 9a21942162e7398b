// Espalier and the two floors, each in a workerd process of its own, from one binary and with the same bindings.
//
// Miniflare starts them as `wrangler dev` does, but the requests go to a socket of the Worker's own: wrangler's proxy
// and Miniflare's entry would add the same milliseconds to all three and so draw every ratio towards 1.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { Miniflare } from "miniflare";
import workerd from "workerd"; // the path of the binary, under `default`

const script = (path) => ({ [path]: { type: "esm", contents: readFileSync(path, "utf8") } });
const wasm = (path) => ({ [path]: { type: "wasm", contents: new Uint8Array(readFileSync(path)) } });
const MODULES = {
  espalier: () => ({ ...script("build/index.js"), ...wasm("build/index_bg.wasm") }),
  loop: () => script("tests/bench/floor-loop.js"),
  pipe: () => script("tests/bench/floor-pipe.js"),
};
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
const compatibilityDate = /^compatibility_date = "(.*)"/m.exec(readFileSync("wrangler.toml", "utf8"))[1];

export async function startWorker(name, llmPort, directory) {
  const before = new Set(workerds());
  const vars = { ...VARS, LLM_BASE_URL: `http://127.0.0.1:${llmPort}/v1` };
  const modules = MODULES[name]();
  const miniflare = new Miniflare({
    workers: [
      {
        config: {
          name,
          compatibilityDate,
          manifest: { mainModule: Object.keys(modules)[0], modulesRoot: process.cwd(), modules },
          exports: { ThreadObject: { type: "durable-object", storage: "sqlite" } },
          env: {
            THREADS: { type: "durable-object", worker: name, exportName: "ThreadObject" },
            DB: { type: "d1", id: "espalier" },
            WORKSPACE: { type: "r2", name: "espalier-workspace" },
            ...Object.fromEntries(Object.entries(vars).map(([key, value]) => [key, { type: "text", value }])),
          },
        },
        dev: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] },
      },
    ],
    // On a disk, so that an fsync is one.
    resourcePersistencePath: directory,
    cf: false,
  });
  const url = await miniflare.unsafeGetDirectURL();
  const pid = workerds().find((pid) => !before.has(pid));
  return { name, miniflare, url, pid };
}

// The same Worker in a bare workerd, with no database: milliseconds from spawning it to the end of its first answer.
export async function timeToFirstAnswer(name, directory) {
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
  bindings = [(name = "THREADS", durableObjectNamespace = "ThreadObject"), ${bindings.join(", ")}],
  durableObjectNamespaces = [(className = "ThreadObject", uniqueKey = "bench", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
);`,
  );
  const spawned = performance.now();
  const child = spawn(workerd.default, ["serve", "--control-fd=3", `${directory}/config.capnp`], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const [message] = await once(child.stdio[3], "data");
  const response = await fetch(`http://127.0.0.1:${JSON.parse(message).port}/api/health`);
  await response.arrayBuffer();
  const elapsed = performance.now() - spawned;
  child.kill();
  await once(child, "exit");
  return elapsed;
}

export async function migrate({ miniflare }) {
  const database = await miniflare.getD1Database("DB");
  for (const file of readdirSync("migrations").sort()) {
    const sql = readFileSync(`migrations/${file}`, "utf8").replace(/--.*$/gm, "");
    for (const statement of sql.split(";")) if (statement.trim()) await database.prepare(statement).run();
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

// CPU milliseconds that a process has used, user and system. Linux counts each thread in nanoseconds; elsewhere `ps`
// knows hundredths of a second, so there the runs must be longer to mean something.
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
