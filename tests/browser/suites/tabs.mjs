// Two tabs on one chat, and a browser without a network.

import { assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, visit } from "../harness.mjs";

/** Opens the box for the name of the newest chat. */
async function openName(page) {
  const item = byId(page, "thread-item").first();
  await item.hover();
  await byId(item, "thread-menu").click();
  await byId(page, "thread-rename").click();
}

export async function tabs(browser) {
  const llm = fakeLlm();
  await llm.script("one", [{ text: "Here I am." }]);
  await llm.script("two", [
    { calls: [{ name: "calculate", arguments: { expression: "6*7" } }] },
    { text: ["It is ", "42."], barrier: { name: llm.barrier("hold"), after: 1 } },
  ]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const other = await context.newPage();

  await check("a turn that begins in one tab streams into the other", async () => {
    await send(page, llm.says("Hello", "one"));
    await settled(page);
    await other.goto(page.url());
    await byId(other, "message-assistant").filter({ hasText: "Here I am." }).waitFor();
    await page.bringToFront();
    await send(page, llm.says("What is it?", "two"));
    const answer = byId(other, "message-assistant").last();
    await answer.filter({ hasText: "It is" }).waitFor();
    assertEqual(await byId(other, "message-user").count(), 2, "the question is there as well");
    assertEqual(await byId(other, "status-chip").getAttribute("data-state"), "thinking", "the other tab's chip");
    await llm.release("hold");
    await answer.filter({ hasText: "It is 42." }).waitFor();
    await settled(page);
    await settled(other);
    await openAll(page);
    await openAll(other);
    assertEqual(await cards(other), await cards(page), "the cards");
  });

  await check("the other tab shows a new name at once", async () => {
    await openName(page);
    await byId(page, "thread-name").fill("The answer");
    await page.keyboard.press("Enter");
    await byId(other, "thread-item").filter({ hasText: "The answer" }).waitFor();
    await other.locator(".top-title", { hasText: "The answer" }).waitFor();
  });

  await check("a name that nobody changed takes no later title away", async () => {
    await openName(other);
    await byId(other, "thread-name").waitFor();
    await openName(page);
    await byId(page, "thread-name").fill("A later title");
    await page.keyboard.press("Enter");
    await other.locator(".top-title", { hasText: "A later title" }).waitFor();
    await byId(other, "composer").click();
    await byId(other, "thread-item").filter({ hasText: "A later title" }).waitFor();
    await other.locator(".top-title", { hasText: "A later title" }).waitFor();
  });

  await check("the page shows that it is offline, and recovers by itself", async () => {
    await context.setOffline(true);
    await page.locator('[data-testid="status-chip"][data-state="offline"]').waitFor();
    await context.setOffline(false);
    await page.locator('[data-testid="status-chip"][data-state="idle"]').waitFor();
  });
  notes.complaints = notes.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"));
  await quiet("two tabs", notes);
  await context.close();
}
