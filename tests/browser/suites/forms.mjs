// A server of MCP asks the reader in the middle of a call. Issue 22.

import { randomUUID } from "node:crypto";
import { assert, assertEqual, byId, check, env, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const SIZES = { desktop: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } };
const order = () => ({ name: "mcp__modern__order", arguments: { mark: randomUUID() } });

export async function forms(browser) {
  for (const [how, viewport] of Object.entries(SIZES)) await form(browser, { viewport, reducedMotion: "reduce" }, how);
}

// Long: one visit, whose checks follow each other.
async function form(browser, options, how) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_MCP_URL"), options);
  const asked = byId(page, "form");
  const decided = byId(page, "approval-decided");
  const waits = () => page.locator('[data-testid="status-chip"][data-state="waiting"]').waitFor();
  // The tool returns what its server got.
  const given = async () => {
    await openAll(page);
    const card = page.locator('[data-testid="tool-card"][data-tool-name="mcp__modern__order"]').last();
    return JSON.parse((await card.innerText()).match(/\{"given.*\}|\{\s*"given[^]*\}/)[0]).given;
  };

  await check(`a server's question is a form, ${how}`, async () => {
    await llm.script("", [{ calls: [order()] }, { text: "It is ordered." }]);
    await send(page, llm.says("Order it"));
    await asked.getByRole("heading", { name: "The server “modern” asks you" }).waitFor();
    await waits();
    await asked.getByRole("group", { name: "What shall I order?" }).waitFor();
    assertEqual(await asked.locator("label").allInnerTexts(), ["count (optional)", "gift", "Name on the box (optional)", "Size"], "the fields, in the order of the server");
    assertEqual(await asked.locator("option").allInnerTexts(), ["No choice", "small", "large"], "the choices");
    assertEqual(await asked.locator("button").allInnerTexts(), ["Send", "Decline"], "the buttons");
    assertEqual(await asked.getByLabel("count (optional)").inputValue(), "1", "the number that the server proposes");
    await byId(page, "announcer").filter({ hasText: "The server “modern” asks you for input." }).waitFor({ state: "attached" });
    const [drawn, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert(drawn <= width, `${drawn} of ${width} pixels`);
    await shot(page, `form-${how}`);
  });
  await clean(page, `a form, ${how}`);

  await check(`a form without a value that it needs is not sent, ${how}`, async () => {
    await asked.getByRole("button", { name: "Send" }).click();
    assert(await asked.getByLabel("Size").evaluate((field) => field.matches(":invalid")), "the browser says which one");
    await waits();
    assertEqual(await asked.count(), 1, "the forms");
  });

  await check(`another chat leaves what stands in the form, and Escape in it stops nothing, ${how}`, async () => {
    await asked.getByLabel("Name on the box").fill("Eve");
    await page.keyboard.press("Escape");
    await waits();
    await page.keyboard.press("Control+Shift+O");
    await asked.waitFor({ state: "detached" });
    await page.goBack();
    await asked.waitFor();
    assertEqual(await asked.getByLabel("Name on the box").inputValue(), "Eve", "the name");
    assert(await byId(page, "stop").isVisible(), "the answer goes on");
  });

  await check(`the form stands after a reload, and is filled in by keyboard, ${how}`, async () => {
    await page.reload();
    await asked.getByLabel("count (optional)").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Ada");
    await page.keyboard.press("Tab");
    await page.keyboard.type("la");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await byId(page, "message-assistant").filter({ hasText: "It is ordered." }).waitFor();
    await settled(page);
    assertEqual(await asked.count(), 0, "the forms");
    const content = { count: 2, gift: true, name: "Ada", size: "large" };
    assertEqual(await given(), { box: { action: "accept", content } }, "the server's input");
  });

  await check(`a form can be declined, and the answer goes on, ${how}`, async () => {
    const held = { name: llm.barrier("hold"), after: 1 };
    await llm.script("no", [{ calls: [order()] }, { text: ["As ", "you wish."], barrier: held }]);
    await send(page, llm.says("Order another", "no"));
    await asked.getByRole("button", { name: "Decline" }).click();
    await decided.filter({ hasText: "“modern” got no answer: you declined." }).waitFor();
    await llm.release("hold");
    await byId(page, "message-assistant").filter({ hasText: "As you wish." }).waitFor();
    await settled(page);
    assertEqual(await given(), { box: { action: "decline" } }, "the server's input");
  });

  await quiet(`a form, ${how}`, notes);
  await context.close();
}
