// Espalier and the two floors, each in a workerd process of its own, from one binary and with the same bindings.
//
// Miniflare starts them as `wrangler dev` does, but the requests go to a socket of the Worker's own: wrangler's proxy
// and Miniflare's entry would add the same milliseconds to all three and so draw every ratio towards 1.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { Miniflare } from "miniflare";

const script = (path) => ({ [path]: { type: "esm", contents: readFileSync(path, "utf8") } });
const wasm = (path) => ({ [path]: { type: "wasm", contents: new Uint8Array(readFileSync(path)) } });
const MODULES = {
  espalier: () => ({ ...script("build/index.js"), ...wasm("build/index_bg.wasm") }),
  loop: () => script("tests/bench/floor-loop.js"),
  pipe: () => script("tests/bench/floor-pipe.js"),
};
const compatibilityDate = /^compatibility_date = "(.*)"/m.exec(readFileSync("wrangler.toml", "utf8"))[1];

export async function startWorker(name, llmPort, directory) {
  const before = new Set(workerds());
  const spawned = performance.now();
  const text = (value) => ({ type: "text", value });
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
            AUTH_ANONYMOUS: text("true"),
            SESSION_SECRET: text("a secret of the benchmark and of nothing else"),
            ALLOWED_ORIGINS: text(""),
            LIMITS: text("{}"),
            LLM_PROVIDER: text("openai"),
            LLM_BASE_URL: text(`http://127.0.0.1:${llmPort}/v1`),
            LLM_API_KEY: text("sk-bench"),
            LLM_MODEL: text("bench-model"),
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
  return { name, miniflare, url, pid, spawned };
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
