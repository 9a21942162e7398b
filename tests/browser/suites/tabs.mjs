// Two tabs on one chat, and a browser without a network.

import { assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

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
    await page.locator('[data-testid="status-chip"][data-state="idle"]').waitFor({ state: "attached" });
  });
  notes.complaints = notes.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"));
  await quiet("two tabs", notes);
  await context.close();
}

/** Issue 53, fault 10: the list says which chat runs, waits for its person, or has a new answer. */
export async function states(browser) {
  const llm = fakeLlm();
  await llm.script("long", [{ text: ["It ", "takes a while."], barrier: { name: llm.barrier("long"), after: 1 } }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const other = await context.newPage();
  await other.goto(env("ESPALIER_URL"));
  const state = (tab, title) => byId(byId(tab, "thread-item").filter({ hasText: title }), "thread-state");
  const is = (tab, title, value) => state(tab, title).and(tab.locator(`[data-state="${value}"]`)).waitFor();

  await check("a turn that runs is marked in every tab, and its end takes the mark away", async () => {
    await send(page, llm.says("Take your time", "long"));
    for (const tab of [page, other]) await is(tab, "Take your time", "running");
    await byId(page, "message-assistant").filter({ hasText: "It" }).waitFor();
    await clean(page, "a chat that runs");
    await llm.release("long");
    await settled(page);
    for (const tab of [page, other]) await state(tab, "Take your time").waitFor({ state: "detached" });
  });

  await check("the list of the service says what others do, and a new answer stays new until it is opened", async () => {
    const now = Date.now();
    const thread = (title, change) => ({ id: crypto.randomUUID(), title, created_at: 1, updated_at: now + 60_000, ...change });
    const threads = [thread("A new answer", {}), thread("An open question", { state: "waiting" }), thread("A long turn", { state: "running" })];
    await page.route("**/api/threads?*", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ threads, next_cursor: null }) }));
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await is(page, "A new answer", "unread");
    await is(page, "An open question", "waiting");
    await is(page, "A long turn", "running");
    await page.route(`**/api/threads/${threads[0].id}`, (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ ...threads[0], last_seq: 9, running_turn_id: null, running_ms: null }) }));
    await page.route(`**/api/threads/${threads[0].id}/messages?*`, (route) => route.fulfill({ contentType: "application/json", body: '{"messages": [], "next_cursor": null}' }));
    await byId(page, "thread-item").filter({ hasText: "A new answer" }).getByRole("link").click();
    await state(page, "A new answer").waitFor({ state: "detached" });
    await byId(page, "new-chat").click();
    await page.reload();
    await is(page, "An open question", "waiting");
    assertEqual(await state(page, "A new answer").count(), 0, "an answer that was opened");
  });
  await quiet("the states of chats", notes);
  await context.close();
}
