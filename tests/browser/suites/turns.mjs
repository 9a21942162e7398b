// Turns as they run: streaming, nesting, stopping, failing.

import { assert, assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, shot, toggle, visit } from "../harness.mjs";

/** N-040: the answer grows while the model is still speaking. */
export async function streaming(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: ["Once upon ", "a **time**."], barrier: { name: llm.barrier("hold"), after: 1 } }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("the answer streams in, and the chip shows the status", async () => {
    await send(page, llm.says("Tell me a story"));
    const answer = byId(page, "message-assistant").last();
    await answer.filter({ hasText: "Once upon" }).waitFor();
    assert(!(await answer.innerText()).includes("time"), "the rest has not been said yet");
    assertEqual(await byId(page, "status-chip").getAttribute("data-state"), "thinking", "the chip");
    assert(await byId(page, "stop").isVisible(), "a running turn can be stopped");
    await llm.release("hold");
    await answer.filter({ hasText: "Once upon a time." }).waitFor();
    await settled(page);
    assert(await byId(page, "send").isVisible(), "the next message can be sent");
  });
  await quiet("the stream", notes);
  await context.close();
}

/** N-132 N-133 N-134: three levels, while they run and afterwards. */
export async function nesting(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [llm.subtask("Plan the trip", "a"), llm.subtask("Book it", "b")] }, { text: "All set." }]);
  await llm.script("a", [{ calls: [llm.subtask("Find a route", "a/c")] }, { text: "Planned." }]);
  await llm.script("a/c", [
    { calls: [{ name: "calculate", arguments: { expression: "120/60" } }] },
    { text: ["Two ", "hours."], barrier: { name: llm.barrier("hold"), after: 1 } },
  ]);
  await llm.script("b", [{ calls: [{ name: "calculate", arguments: { expression: "1/0" } }] }, { text: "Booked." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  let live = [];

  await check("while it runs, cards lie in their parents' cards and are folded below the root", async () => {
    await send(page, llm.says("Organize my trip"));
    const inner = page.locator('[data-testid="tool-card"][data-depth="1"][data-tool-name="run_subtask"]');
    await inner.waitFor();
    const all = await cards(page);
    const [plan] = all;
    assertEqual([plan.name, plan.depth, plan.status, plan.open], ["run_subtask", 0, "running", true], "the first subtask");
    for (const card of all.filter((card) => card.depth > 0)) assert(!card.open, `${card.name} is open`);
    await toggle(page, await inner.getAttribute("data-tool-call-id")).click();
    // The text of a subtask is inside its card, never in the answer.
    await inner.filter({ hasText: "Two" }).waitFor();
    const deep = page.locator('[data-testid="tool-card"][data-depth="2"]');
    assertEqual(await deep.getAttribute("data-status"), "done", "the call inside");
    await shot(page, "nested-running");
    await llm.release("hold");
    await settled(page);
  });

  await check("a failed call shows its failure, and its siblings go on", async () => {
    await openAll(page);
    live = await cards(page);
    const shape = live.map(({ name, depth, status }) => `${depth} ${name} ${status}`);
    assertEqual(
      shape,
      ["0 run_subtask done", "1 run_subtask done", "2 calculate done", "0 run_subtask done", "1 calculate error"],
      "the cards",
    );
    for (const card of live) {
      assertEqual(card.parent === null, card.depth === 0, `the parent of ${card.name} at depth ${card.depth}`);
    }
    await shot(page, "nested-done");
  });

  await check("after a reload the same cards lie in the same cards", async () => {
    await page.reload();
    await settled(page);
    for (const card of await cards(page)) assertEqual(card.open, card.name === "run_subtask" && card.depth === 0, `open: ${card.name}`);
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after the reload");
  });
  await quiet("the nested turn", notes);
  await context.close();
}

export async function stopping(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "I shall go on and on", hang: true }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("the stop button stops the turn at once and keeps its text", async () => {
    await send(page, llm.says("Never stop"));
    await byId(page, "message-assistant").filter({ hasText: "on and on" }).waitFor();
    await byId(page, "stop").click();
    await llm.aborted();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await settled(page);
    assert((await byId(page, "message-assistant").innerText()).includes("on and on"), "the partial answer is gone");
    await page.reload();
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    assert((await byId(page, "message-assistant").innerText()).includes("on and on"), "it is gone after a reload");
  });

  const back = fakeLlm();
  await back.script("", [{ text: ["first half, ", "second half"], barrier: { name: back.barrier("hold"), after: 1 } }]);
  await check("a reload in mid-turn picks up the running turn", async () => {
    await send(page, back.says("In two halves"));
    await byId(page, "message-assistant").last().filter({ hasText: "first half" }).waitFor();
    await page.reload();
    await byId(page, "message-assistant").last().filter({ hasText: "first half" }).waitFor();
    await back.release("hold");
    await byId(page, "message-assistant").last().filter({ hasText: "first half, second half" }).waitFor();
    await settled(page);
  });

  const broken = fakeLlm();
  await broken.script("", [{ status: { code: 401 } }]);
  await check("a refusal of the provider leads to an error in plain words", async () => {
    await send(page, broken.says("Hello?"));
    await page.locator('[data-testid="turn-error"][data-code="provider_auth"]').waitFor();
    await byId(page, "send").waitFor();
  });
  await quiet("stopped and failed turns", notes);
  await context.close();
}
