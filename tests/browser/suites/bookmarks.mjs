// Bookmarks: a person bookmarks an answer, finds it again from another chat, and removes the bookmark. Issue 47.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 360, height: 740 } };
const LONG = Array.from({ length: 40 }, (_, line) => `Line ${line} of the answer.`).join("\n\n");

export async function bookmarks(browser) {
  for (const [width, options] of [["desk", DESK], ["phone", PHONE]]) await found(browser, width, options);
}

// Long: one visit, whose checks follow each other.
async function found(browser, width, options) {
  const llm = fakeLlm();
  await llm.script("first", [{ text: `It is **42**.\n\n${LONG}` }]);
  await llm.script("", [{ text: LONG }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"), options);
  const buttons = byId(page, "bookmark");
  const press = async (id) => {
    // A sidebar that slides away is still visible.
    const menu = page.locator(".menu-button");
    if ((await menu.isVisible()) && (await menu.getAttribute("aria-expanded")) === "false") await menu.click();
    await byId(page, id).click();
  };
  const openList = async () => {
    await press("bookmarks-open");
    await byId(page, "bookmarks").waitFor();
  };

  await check(`an answer is bookmarked by its button (${width})`, async () => {
    await send(page, llm.says("What is it?", "first"));
    await settled(page);
    for (const question of ["And then?", "And now?"]) {
      await send(page, llm.says(question));
      await settled(page);
    }
    await buttons.first().click();
    await page.locator("[data-testid=bookmark][aria-pressed=true]").waitFor();
    assertEqual(await page.locator("[data-testid=bookmark][aria-pressed=true]").count(), 1, "the marked answers");
    await page.reload();
    await settled(page);
    await buttons.nth(2).waitFor();
    await page.locator("[data-testid=bookmark][aria-pressed=true]").waitFor();
    assertEqual(await buttons.first().getAttribute("aria-pressed"), "true", "the mark after a reload");
  });

  await check(`the list leads to the answer from another chat (${width})`, async () => {
    await press("new-chat");
    await openList();
    const row = byId(page, "bookmarked");
    await row.waitFor();
    assert((await row.innerText()).includes("It is **42**."), "the beginning of the answer");
    await clean(page, `the panel of bookmarks, ${width}`);
    await shot(page, `bookmarks-${width}`);
    await row.locator("a").click();
    await page.waitForFunction(() => {
      const first = document.querySelector("[data-turn-id]")?.getBoundingClientRect();
      return first !== undefined && Math.abs(first.top - document.querySelector(".transcript").getBoundingClientRect().top) < 80;
    });
  });

  await check(`a bookmark is removed in the list, and the answer knows it (${width})`, async () => {
    if (!(await byId(page, "bookmarks").isVisible())) await openList();
    await byId(page, "bookmark-remove").click();
    await byId(page, "bookmarks").getByText("No bookmarks yet.").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("[data-testid=bookmark][aria-pressed=true]").waitFor({ state: "detached" });
    await page.reload();
    await settled(page);
    await buttons.first().waitFor();
    assertEqual(await page.locator("[data-testid=bookmark][aria-pressed=true]").count(), 0, "the marks");
  });
  await quiet(`bookmarks, ${width}`, notes);
  await context.close();
}
