// The examples, as their readers run them, against the real service.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { assert, assertEqual, check, cuttableLine, env, fakeLlm, quiet, visit } from "../harness.mjs";

const file = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** The address of an example that Vite serves, and its end. */
async function served(name) {
  const server = spawn(process.execPath, [file("web/node_modules/vite/bin/vite.js"), "--host", "127.0.0.1"], {
    cwd: file(`examples/${name}`),
    env: { ...process.env, NO_COLOR: "1", ESPALIER_URL: env("ESPALIER_URL") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const piece of server.stdout) {
    said += piece;
    const address = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
    if (address) return { base: address[0], close: () => server.kill() };
  }
  throw new Error(`Vite ended: ${said}`);
}

export async function examples(browser) {
  await useChat(browser);
  await plainPage(browser);
}

/** Issue 22: Vite and `useChat`. */
async function useChat(browser) {
  const llm = await fakeLlm();
  const example = await served("ai-sdk");
  const composer = (page) => page.getByLabel("Message");
  const { page, notes } = await visit(browser, example.base, {}, (page) => composer(page).waitFor());
  const ask = async (words) => {
    await composer(page).fill(words);
    await composer(page).press("Enter");
  };
  const answer = () => page.locator("section.assistant").last();

  await check("useChat shows text, a tool and a subtask", async () => {
    await llm.script("a", [{ text: ["a is done."] }]);
    const subtask = { name: "run_subtask", arguments: { title: "Deep", instructions: llm.says("Deep", "a") } };
    const reckon = { name: "calculate", arguments: { expression: "6*7" } };
    await llm.script("", [{ calls: [subtask, reckon] }, { text: ["It is ", "42."] }]);
    await ask(llm.says("What is it?"));
    await answer().getByText("It is 42.", { exact: true }).waitFor();
    const tools = await answer().locator("summary").allTextContents();
    assertEqual(tools, ["run_subtask: output-available", "calculate: output-available"], "the tools");
    assertEqual(await answer().locator("details").first().locator("pre").last().textContent(), "a is done.", "the subtask");
  });

  await check("its button stops the turn", async () => {
    await llm.script("held", [{ text: ["So ", "far"], barrier: { name: llm.barrier("held"), after: 1 } }]);
    await ask(llm.says("Go on", "held"));
    await answer().getByText("So").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await llm.aborted("held");
    await page.locator("button:enabled", { hasText: "Send" }).waitFor();
  });

  await quiet("the example with useChat", notes);
  await page.context().close();
  example.close();
}

/** The plain page, for the service at this address. It comes from an origin that the instance `main` allows. */
async function published(service) {
  const written = await readFile(file("examples/html/index.html"), "utf8");
  const page = written.replace("http://localhost:8787", service);
  assert(page !== written, "the page does not name the service's address");
  const address = `${env("ESPALIER_FAKE_LLM_URL")}/_fake/documents/page-${crypto.randomUUID()}`;
  const reply = await fetch(address, { method: "PUT", body: JSON.stringify(page) });
  assert(reply.ok, `publishing the page: ${reply.status}`);
  return address;
}

/** Issue 22: a plain page of another origin, over our own wire. */
async function plainPage(browser) {
  const llm = fakeLlm();
  const line = await cuttableLine(env("ESPALIER_URL"));
  const service = new URL(line.url).origin;
  const { page, notes } = await visit(browser, await published(service), {}, (page) => page.getByLabel("Message").waitFor());
  const log = page.getByRole("log", { name: "Conversation" });
  const ask = async (words) => {
    await page.getByLabel("Message").fill(words);
    await page.getByLabel("Message").press("Enter");
  };
  const says = (words) => log.getByText(`Espalier: ${words}`, { exact: true }).waitFor();
  const answered = async (words) => {
    await says(words);
    await page.locator('[role="log"][aria-busy="false"]').waitFor();
  };
  const first = ["You: " + llm.says("What is it?"), "Tool: run_subtask", "Tool: calculate", "Espalier: It is <b>42</b>."];
  const second = ["You: " + llm.says("And more?", "more"), "Espalier: 43."];

  await check("a plain page of another origin shows the root's text and tools, and none of it becomes HTML", async () => {
    await llm.script("a", [{ text: ["a is done."] }]);
    const reckon = { name: "calculate", arguments: { expression: "6*7" } };
    await llm.script("", [{ calls: [llm.subtask("Deep", "a"), reckon] }, { text: ["It is ", "<b>42</b>."] }]);
    await ask(llm.says("What is it?"));
    await answered("It is <b>42</b>.");
    assertEqual(await log.locator("p").allTextContents(), first, "the conversation");
  });

  await check("its second message goes on in the same thread", async () => {
    await llm.script("more", [{ text: ["43."] }]);
    await ask(llm.says("And more?", "more"));
    await answered("43.");
    assertEqual(await log.locator("p").allTextContents(), [...first, ...second], "the conversation");
    const path = `${service}/api/threads/${notes.chats.at(-1).thread_id}/messages`;
    const stored = await page.evaluate(async (path) => (await fetch(path, { credentials: "include" })).json(), path);
    const expected = [llm.says("What is it?"), "It is <b>42</b>.", llm.says("And more?", "more"), "43."];
    assertEqual(stored.messages.map(({ content }) => content), expected, "the stored conversation");
  });

  await quiet("the plain page", { ...notes, foreign: notes.foreign.filter((url) => !url.startsWith(`${service}/`)) });

  await check("after a cut it reads the answer on, and sends no message twice", async () => {
    await llm.script("cut", [{ text: ["So ", "far."], barrier: { name: llm.barrier("cut"), after: 1 } }]);
    await ask(llm.says("Go on", "cut"));
    await says("So");
    const again = page.waitForRequest(/\/stream\?after=\d+$/);
    line.cut();
    await again;
    await llm.release("cut");
    await answered("So far.");
    const third = ["You: " + llm.says("Go on", "cut"), "Espalier: So far."];
    assertEqual(await log.locator("p").allTextContents(), [...first, ...second, ...third], "the conversation");
    const sent = notes.chats.filter(({ content }) => content !== undefined);
    assertEqual(sent.length, 3, "requests that start a turn");
  });

  await page.context().close();
  line.close();
}
