// The same conversation with each of the libraries with which people write clients, by its defaults. Run by
// `make nightly-libraries`, under the harness of the end-to-end tests.
//   node tests/libraries/run.mjs [LIBRARY …]
//
// A program here plays one library, and reports what the library made of each answer. The model is the fake LLM, which
// keeps the requests that reached it. This file scripts the model, and compares both with `libraries.mjs`.
//
// Issue 44

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ANSWERS, ARGUMENTS, FORM, INSTRUCTIONS, LIBRARIES, OFFERED } from "./libraries.mjs";

const env = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set: see make nightly-libraries`);
  return process.env[name];
};
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const SERVICE = env("ESPALIER_URL");
const MODEL = env("ESPALIER_FAKE_LLM_URL");
/** More than any library needs here, in milliseconds. */
const LONGEST = 120_000;

const json = async (url, init) => {
  const answer = await fetch(url, init);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};

/** A key of a new user. */
const mint = async (name) => {
  const headers = { authorization: `Bearer ${env("ESPALIER_ADMIN_KEY")}`, "content-type": "application/json" };
  return (await json(`${SERVICE}/api/keys`, { method: "POST", headers, body: JSON.stringify({ name }) })).key;
};

/** What the model says in each part of the conversation. */
const steps = (library, barrier) => {
  const call = { name: "ui_book__trip", arguments: { ...ARGUMENTS, ...library.arguments } };
  // A tool of the service, before that of the client.
  const ours = { name: "calculate", arguments: { expression: "6*7" } };
  const all = {
    plain: [{ text: ANSWERS.plain }],
    streamed: [{ text: ["One ", "two ", "three."], barrier: { name: barrier, after: 1 } }],
    tool: [{ reasoning: ["Hm."], calls: [ours] }, { calls: [call] }, { text: ANSWERS.tool }],
    second: [{ text: ANSWERS.second }],
    streamedCalls: [{ reasoning: ["Hm."], calls: [ours] }, { calls: [call, call] }, { text: ANSWERS.streamedCalls }],
    ...Object.fromEntries(Object.entries(library.forms).map(([part, name]) => [part, [{ calls: [{ name, arguments: FORM }] }]])),
  };
  return Object.fromEntries(Object.entries(all).filter(([part]) => part in library.report));
};

/** The texts of a request to the model. */
const contents = ({ body }, roles) => body.messages
  .filter(({ role, content }) => roles.includes(role) && content)
  .map(({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text).join("")));

/** The client's instructions stand in the prompt of each request. */
const wasInstructed = (request) => {
  const [prompt] = contents(request, ["system"]);
  assert.ok(prompt.includes(`<client_instructions of="application">\n${INSTRUCTIONS}\n</client_instructions>`), prompt);
};

/** What reached the model. */
const reached = async (library, said) => {
  const requests = {};
  for (const part of Object.keys(said)) {
    const marker = said[part].marker;
    const all = (await json(`${MODEL}/_fake/requests?marker=${marker}`)).requests;
    requests[part] = all.filter((request) => request.marker === marker);
    for (const request of requests[part]) {
      assert.equal(request.outcome, "finished", `${part}: ${request.error}`);
      if (library.isInstructed) wasInstructed(request);
    }
  }
  for (const [part, script] of Object.entries(steps(library))) assert.equal(requests[part].length, script.length, part);
  if (!said.tool) return;
  // The model has the schema whole, and then the result of the tool.
  const [asked, , answered] = requests.tool;
  const { parameters, description } = asked.body.tools.map((tool) => tool.function).find(({ name }) => name === "ui_book__trip");
  assert.deepEqual([Object.keys(parameters.properties).sort(), description], [OFFERED, "Books a trip."]);
  const { description: whose, pattern } = parameters.properties.to;
  assert.deepEqual([whose, pattern !== undefined], ["Whose trip", library.hasPattern], JSON.stringify(parameters));
  const result = "Booked for ann@example.com.";
  assert.deepEqual(contents(answered, ["tool"]).slice(1), [result]);
  assert.deepEqual(contents(requests.streamedCalls[2], ["tool"]).slice(1), [result, result]);
  // The second turn has the first one before it.
  const conversation = contents(requests.second[0], ["user", "assistant"]);
  assert.deepEqual(conversation, [said.tool.text, ANSWERS.tool, said.second.text]);
};

/** A report whose errors have our words alone: each library puts words of its own around them. */
const inOurWords = (report, expected) => Object.fromEntries(Object.entries(report).map(([part, told]) => {
  const words = expected[part]?.message;
  return [part, words && told?.message?.includes(words) ? { ...told, message: words } : told];
}));

const play = async (name, library) => {
  const run = `library-${name}-${Date.now().toString(36)}`;
  const said = {};
  const scripts = {};
  for (const [part, script] of Object.entries(steps(library, run))) {
    const marker = `${run}-${part}`;
    said[part] = { marker, text: `Go on. [[fake:${marker}]]` };
    scripts[marker] = { steps: script };
  }
  await json(`${MODEL}/_fake/scripts`, { method: "POST", body: JSON.stringify(scripts) });
  const texts = Object.fromEntries(Object.entries(said).map(([part, { text }]) => [part, text]));
  const given = { service: SERVICE, llm: MODEL, barrier: run, key: await mint(run), instructions: INSTRUCTIONS, said: texts };
  const [program, ...words] = library.command;
  // No library may tell anybody else what it does.
  const quiet = { OPENAI_AGENTS_DISABLE_TRACING: "1", LANGSMITH_TRACING: "false", LANGCHAIN_TRACING_V2: "false" };
  const { stdout, stderr } = await promisify(execFile)(program, words, {
    cwd: here("."), timeout: LONGEST, env: { ...process.env, ...quiet, LIBRARY_CASE: JSON.stringify(given) },
  });
  if (process.env.VERBOSE) console.log(stdout, stderr);
  const report = JSON.parse(stdout.trim().split("\n").at(-1));
  assert.deepEqual(inOurWords(report, library.report), JSON.parse(JSON.stringify(library.report)), stderr);
  await reached(library, said);
};

let failures = 0;
const wanted = process.argv.slice(2);
const libraries = Object.entries(LIBRARIES).filter(([name]) => wanted.length === 0 || wanted.includes(name));
for (const [name, library] of libraries) {
  const begun = Date.now();
  try {
    await play(name, library);
    console.log(`${name}: passed in ${((Date.now() - begun) / 1_000).toFixed(1)} s`);
  } catch (error) {
    failures += 1;
    console.log(`${name}: FAILED\n${error.stack}\n${error.stderr ?? ""}`);
  }
}
console.log(`${libraries.length - failures} passed, ${failures} failed`);
process.exitCode = failures > 0 || libraries.length === 0 ? 1 : 0;
