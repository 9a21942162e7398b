// The protocol's own tests of MCP servers (`@modelcontextprotocol/conformance`) against `/mcp`, in both of its revisions.
// Run by `make mcp-conformance-server`, under the harness of the end-to-end tests.
//
// The tests send no credential, so they ask a small proxy here, which adds one. Failures that are meant stand in the lists
// beside this file, each with its reason. A check that passes must leave its list.

import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";

const env = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set: see make mcp-conformance-server`);
  return process.env[name];
};
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const service = new URL(env("ESPALIER_URL"));
const minted = await fetch(new URL("/api/keys", service), {
  method: "POST",
  headers: { authorization: `Bearer ${env("ESPALIER_ADMIN_KEY")}`, "content-type": "application/json" },
  body: JSON.stringify({ name: "conformance" }),
});
if (!minted.ok) throw new Error(`no key was made: ${await minted.text()}`);
const { key } = await minted.json();

/** What the model of our own turns says where a tool of the tests is one. */
const scripts = {
  "conformance-slow_compute": { steps: [{ text: ["It is ", "42."] }] },
  "conformance-endless": { steps: [{ text: ["It is "], hang: true }] },
  "conformance-failing_job": { steps: [{ status: { code: 400 } }], repeat: true },
};
const told = await fetch(new URL("/_fake/scripts", env("ESPALIER_FAKE_LLM_URL")), { method: "POST", body: JSON.stringify(scripts) });
if (!told.ok) throw new Error(`no script was taken: ${await told.text()}`);

/** Passes each request on as it is, with a credential. */
const proxy = createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${key}` };
  const { hostname, port } = service;
  const passed = request({ hostname, port, path: asked.url, method: asked.method, headers }, (told) => {
    answer.writeHead(told.statusCode, told.headers);
    told.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});
await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
const url = `http://localhost:${proxy.address().port}/mcp`;

const run = (script, scenarios, failures) => new Promise((ended) => {
  const args = [script, "server", "--url", url, ...scenarios, "--expected-failures", here(failures)];
  const output = ["--output-dir", here("../../target/mcp-conformance")];
  spawn(process.execPath, [...args, ...output], { stdio: "inherit" }).on("exit", ended);
});

const modules = "../../node_modules/";
const suite = here(`${modules}conformance-2026/dist/index.js`);
const codes = [
  await run(suite, ["--requirements", "2026-07-28"], "expected-failures.yml"),
  await run(here(`${modules}@modelcontextprotocol/conformance/dist/index.js`), ["--spec-version", "2025-11-25"], "expected-failures-2025.yml"),
];
// An extension is no requirement. These scenarios have their tools here, as turns of ours; the others want tools that ask.
const tasks = ["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "request-headers"];
for (const scenario of tasks) codes.push(await run(suite, ["--scenario", `tasks-${scenario}`], "expected-failures-tasks.yml"));
proxy.close();
process.exitCode = codes.some((code) => code !== 0) ? 1 : 0;
