// The search within a chat, which reaches what is not drawn. Issue 53, fault 7.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, storedChat, storedTurn, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const EXCHANGES = 300;

async function long(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const turns = Array.from({ length: EXCHANGES }, (_, index) => storedTurn(`Question ${index}`, index % 100 === 10 ? `Answer ${index}: a **quince** grows.` : `Answer ${index}`));
  await storedChat(page, env("ESPALIER_URL"), turns.flat());
  await byId(page, "message-user").filter({ hasText: `Question ${EXCHANGES - 1}` }).waitFor();
  const place = byId(page, "find-place");
  const inSight = (text) =>
    page.waitForFunction((text) => {
      const box = document.querySelector(".transcript").getBoundingClientRect();
      const all = [...document.querySelectorAll('[data-testid="message-assistant"]')].filter((each) => each.textContent.includes(text));
      return all.some((each) => each.getBoundingClientRect().top >= box.top - 1 && each.getBoundingClientRect().bottom <= box.bottom + 1);
    }, text);
  const marks = () => page.evaluate(() => [CSS.highlights.get("found")?.size > 0, [...(CSS.highlights.get("found-here") ?? [])].map(String)]);

  await check("Ctrl+F finds a message of a long chat that is not drawn, and goes from one to the next", async () => {
    assertEqual(await byId(page, "message-user").filter({ hasText: "Question 10" }).count(), 0, "the message before");
    await page.keyboard.press("Control+f");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "find");
    await page.keyboard.type("QUINCE");
    await place.filter({ hasText: "3 of 3" }).waitFor();
    await inSight("Answer 210:");
    await page.keyboard.press("Enter");
    await place.filter({ hasText: "1 of 3" }).waitFor();
    await inSight("Answer 10:");
    assertEqual(await marks(), [true, ["quince"]], "the marks");
    await page.keyboard.press("Shift+Enter");
    await inSight("Answer 210:");
    await clean(page, "the search within a chat");
    await page.keyboard.type("s");
    await place.filter({ hasText: "Not found" }).waitFor();
  });

  await check("Escape closes it and leads back to the message", async () => {
    await page.keyboard.press("Escape");
    await byId(page, "find-bar").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    assertEqual(await marks(), [false, []], "the marks");
  });
  await quiet("the search within a long chat", notes);
  await context.close();
}

async function results(browser) {
  const llm = fakeLlm();
  const word = `medlar${Date.now()}`;
  await llm.script("", [{ text: `A ${word} is a fruit.` }]);
  await llm.script("more", [{ text: "No." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("a result of the search leads to the message that has the words", async () => {
    await send(page, llm.says("What is it?"));
    await settled(page);
    await send(page, llm.says("Is there more?", "more"));
    await settled(page);
    await byId(page, "new-chat").click();
    const item = byId(page, "thread-item").filter({ hasText: word });
    await byId(page, "search").fill(word);
    await item.waitFor();
    await item.getByRole("link").click();
    await byId(page, "find-place").filter({ hasText: "1 of 1" }).waitFor();
    assertEqual(await byId(page, "find").inputValue(), word, "the words");
    const here = await page.waitForFunction(() => [...(CSS.highlights.get("found-here") ?? [])].map(String).join());
    assert((await here.jsonValue()) === word, "the mark");
  });
  await quiet("the results of the search", notes);
  await context.close();
}

export async function find(browser) {
  await long(browser);
  await results(browser);
}
