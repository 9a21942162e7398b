// Memory from one chat to the next: a person turns it on, reads the memories and deletes them.

import { assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";

export async function memory(browser) {
  const llm = fakeLlm();
  const remember = (content) => ({ name: "remember", arguments: { content } });
  await llm.script("", [{ calls: [remember("Grows pears."), remember("Is called <b>Ada</b>.")] }, { text: "I shall." }]);
  await llm.script("off", [{ text: "Hello." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const items = byId(page, "memory");
  const open = async () => {
    await byId(page, "settings").click();
    await page.getByRole("button", { name: "Your memories" }).click();
  };

  await check("a chat has no memory until a person turns it on", async () => {
    await send(page, llm.says("Hello", "off"));
    await settled(page);
    assertEqual(notes.chats.map((body) => "memory_enabled" in body), [false], "the sent member");
    await open();
    await byId(page, "memories").filter({ hasText: "No memories yet." }).waitFor();
  });

  await check("with memory on, a chat makes memories, which are listed as text", async () => {
    await byId(page, "memory-switch").check();
    await page.keyboard.press("Escape");
    await send(page, llm.says("Remember that I grow pears, and my name"));
    await settled(page);
    assertEqual(notes.chats.at(-1).memory_enabled, true, "the sent member");
    await open();
    await items.filter({ hasText: "Grows pears." }).waitFor();
    await items.filter({ hasText: "Is called <b>Ada</b>." }).waitFor();
    await shot(page, "memory");
  });

  await check("a reload keeps the choice and the list", async () => {
    await page.reload();
    await settled(page);
    await open();
    await items.nth(1).waitFor();
    assertEqual(await byId(page, "memory-switch").isChecked(), true, "the switch");
  });

  await check("a memory is forgotten after a question, then all of them", async () => {
    await byId(items.filter({ hasText: "Ada" }), "memory-forget").click();
    await byId(page, "confirm").click();
    await items.filter({ hasText: "Ada" }).waitFor({ state: "detached" });
    assertEqual(await items.count(), 1, "the remaining memories");
    await byId(page, "memory-forget-all").click();
    await page.keyboard.press("Enter");
    await byId(page, "memories").filter({ hasText: "No memories yet." }).waitFor();
    await page.reload();
    await settled(page);
    await open();
    await byId(page, "memories").filter({ hasText: "No memories yet." }).waitFor();
  });
  await quiet("the memory", notes);
  await context.close();
}
