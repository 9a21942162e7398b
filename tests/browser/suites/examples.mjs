// The examples, as their readers run them, against the real service.

import { createServer } from "../../../web/node_modules/vite/dist/node/index.js";
import { assertEqual, check, env, fakeLlm, quiet, visit } from "../harness.mjs";

/** The address of an example, and its end. */
async function served(name) {
  const root = new URL(`../../../examples/${name}`, import.meta.url).pathname;
  const cacheDir = new URL("../../../target/e2e/vite", import.meta.url).pathname;
  const server = await createServer({ root, cacheDir, logLevel: "error", server: { host: "127.0.0.1", port: 0, hmr: false } });
  await server.listen();
  return { base: server.resolvedUrls.local[0], close: () => server.close() };
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
    const [deleted] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === "DELETE"),
      page.getByRole("button", { name: "Stop" }).click(),
    ]);
    assertEqual([deleted.status(), typeof (await deleted.json()).turn_id], [200, "string"], "the turn");
    await page.getByRole("button", { name: "Send" }).waitFor();
  });

  await quiet("the example with useChat", notes);
  await page.context().close();
  await example.close();
}
