// The examples, as their readers run them, against the real service.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { assertEqual, check, env, fakeLlm, quiet, visit } from "../harness.mjs";

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

/** Issue 22: Vite and `useChat`. */
export async function examples(browser) {
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
