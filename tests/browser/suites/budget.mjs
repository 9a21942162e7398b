// A turn's use of its limits, and the notice when it reaches one.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";

const CHAT = "**/api/chat";

/** Sends messages in the context whose turns have 10 s at this instance. */
function withLittleTime(page) {
  return page.route(CHAT, (route) => {
    const body = { ...route.request().postDataJSON(), chat_context: { kind: "thread", context_type: "project_create" } };
    return route.continue({ postData: JSON.stringify(body) });
  });
}

export async function budget(browser) {
  const llm = fakeLlm();
  await llm.script("", [
    { calls: [{ name: "calculate", arguments: { expression: "1+1" } }, { name: "current_time", arguments: {} }] },
    { text: ["Two, ", "and late."], barrier: { name: llm.barrier("hold"), after: 1 } },
  ]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));

  await check("a bar shows the use of the limits while a turn runs, and the chip shows the numbers", async () => {
    await send(page, llm.says("Count"));
    await byId(page, "message-assistant").filter({ hasText: "Two," }).waitFor();
    await byId(page, "budget-bar").waitFor();
    await byId(page, "status-chip").click();
    const details = byId(page, "status-details");
    for (const line of [/Model calls\s*2 of 60/, /Tool calls\s*2 of 200/, /Subtasks\s*0 of 32/, /Time\s*\d+ s of \d+/]) {
      await details.filter({ hasText: line }).waitFor();
    }
    const before = Number(await byId(page, "budget-bar").getAttribute("aria-valuenow"));
    await page.waitForFunction((before) => {
      const now = document.querySelector('[data-testid="budget-bar"]').getAttribute("aria-valuenow");
      return Number(now) > before;
    }, before);
    await page.keyboard.press("Escape");
    await llm.release("hold");
    await settled(page);
    assertEqual(await byId(page, "budget-bar").count(), 0, "bars after the end");
  });

  await check("screen readers hear the end of an answer", async () => {
    await byId(page, "announcer").filter({ hasText: "Two, and late. The answer is complete." }).waitFor({ state: "attached" });
  });

  const long = fakeLlm();
  await long.script("", [{ text: "I need more time", hang: true }]);
  await check("a turn that ran out of time names its limit, live and after a reload", async () => {
    await withLittleTime(page);
    await send(page, long.says("Take your time"));
    const notice = page.locator('[data-testid="turn-error"][data-code="budget_exceeded"]').last();
    await notice.filter({ hasText: /reached its limit of .* running time/ }).waitFor();
    await settled(page);
    await page.unroute(CHAT);
    assertEqual(await notice.getAttribute("data-tone"), "warning", "its tone");
    await page.reload();
    await notice.waitFor();
    assert((await byId(page, "message-assistant").last().innerText()).includes("I need more time"), "the partial answer");
  });
  await atTheLimit(page);
  await quiet("the budget", notes);
  await context.close();
}

/** A turn that reaches its limit, and the one that continues it. Issue 19, 4. */
async function atTheLimit(page) {
  const limited = fakeLlm();
  const times = (count) => Array.from({ length: count }, () => ({ name: "current_time", arguments: {} }));
  await limited.script("", [
    { calls: times(100) },
    { calls: [limited.subtask("Count on", "a")] },
    { text: ["The service writes this in its history."] },
    { text: ["Two hundred in all."] },
  ]);
  await limited.script("a", [{ calls: times(100) }]);
  const notice = page.locator('[data-testid="turn-error"][data-code="budget_exceeded"]').last();
  const goOn = byId(page, "continue");
  await check("a turn at its limit says what is left, live and after a reload", async () => {
    await send(page, limited.says("Count to two hundred"));
    const words = "This answer reached its limit of 200 tool calls. Finished work is kept. Left to do: Count on.";
    await notice.filter({ hasText: words }).waitFor();
    await settled(page);
    await shot(page, "limit");
    await page.reload();
    await notice.filter({ hasText: words }).waitFor();
    assertEqual(await goOn.count(), 1, "the buttons: only the newest turn offers one");
  });

  await check("the button Continue goes on from there, and is offered no more", async () => {
    await goOn.focus();
    await page.keyboard.press("Enter");
    await byId(page, "message-assistant").filter({ hasText: "Two hundred in all." }).waitFor();
    await settled(page);
    assertEqual(await goOn.count(), 0, "buttons after the continuation");
    await page.reload();
    await byId(page, "message-assistant").filter({ hasText: "Two hundred in all." }).waitFor();
    assert((await byId(page, "message-user").last().innerText()).includes("Continue."), "the question");
    assertEqual(await goOn.count(), 0, "buttons after a reload");
  });
}
