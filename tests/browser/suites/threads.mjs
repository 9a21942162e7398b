// The list of chats.

import { readFile } from "node:fs/promises";
import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

/** Issue 19, item 13: the older of two chats is pinned by keyboard, and unpinned. */
async function pinning(page, items) {
  const days = () => page.locator(".thread-day").allInnerTexts();
  const older = items.filter({ hasText: "1 + 1" });
  const choose = async () => {
    await byId(older, "thread-menu").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "thread-pin");
    const taken = page.waitForResponse((answer) => answer.request().method() === "PATCH");
    await page.keyboard.press("Enter");
    assertEqual((await taken).status(), 200, "the service's answer");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "thread-menu");
  };
  await check("a chat is pinned above the others, also after a reload, and unpinned", async () => {
    await choose();
    assertEqual(await days(), ["Pinned", "Today"], "the groups");
    await page.reload();
    await items.nth(1).waitFor();
    assertEqual(await days(), ["Pinned", "Today"], "the groups after the reload");
    assert((await items.first().innerText()).includes("1 + 1"), await items.first().innerText());
    await clean(page, "a pinned chat");
    await choose();
    assertEqual(await days(), ["Today"], "the groups without a pin");
    assert((await items.first().innerText()).includes("2 + 2"), await items.first().innerText());
  });
}

export async function chats(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"));
  const items = byId(page, "thread-item");
  await check("chats are listed, newest first, and can be opened again", async () => {
    await send(page, "What is 1 + 1?");
    await settled(page);
    await byId(page, "new-chat").click();
    await send(page, "What is 2 + 2?");
    await settled(page);
    await items.nth(1).waitFor();
    assert((await items.first().innerText()).includes("2 + 2"), await items.first().innerText());
    assertEqual(await page.locator(".thread-day").allInnerTexts(), ["Today"], "the days");
    await items.filter({ hasText: "1 + 1" }).getByRole("link").click();
    await byId(page, "message-user").filter({ hasText: "1 + 1" }).waitFor();
    await settled(page);
  });

  await pinning(page, items);
  const remove = async (item) => {
    await item.hover();
    await byId(item, "thread-menu").click();
    await byId(page, "thread-delete").click();
    await item.waitFor({ state: "detached" });
  };

  await check("a deleted chat can be restored, and is open again", async () => {
    const first = items.filter({ hasText: "1 + 1" });
    await remove(first);
    assertEqual(await byId(page, "message-user").count(), 0, "the messages on screen");
    await byId(page, "undo").click();
    await first.waitFor();
    await byId(page, "message-user").filter({ hasText: "1 + 1" }).waitFor();
    assertEqual(notes.deletions, 0, "deletions that the service was told of");
  });

  await check("a deletion holds, also if the person leaves the page at once", async () => {
    const first = items.filter({ hasText: "1 + 1" });
    const path = `api/threads/${await first.getAttribute("data-thread-id")}`;
    await remove(first);
    await page.reload();
    await items.filter({ hasText: "2 + 2" }).waitFor();
    assertEqual(await first.count(), 0, "its items");
    assertEqual((await context.request.get(new URL(path, page.url()).href)).status(), 404, "the service's answer");
    await remove(items.filter({ hasText: "2 + 2" }));
    await byId(page, "toast").waitFor({ state: "detached" });
    assertEqual(notes.deletions, 1, "deletions when the time was over");
  });
  await quiet("the list of chats", notes);
  await context.close();
}

/** Search, names and saved files. */
// Long: one visit, whose checks follow each other.
export async function finding(browser) {
  const llm = fakeLlm();
  await llm.script("pears", [
    { calls: [llm.subtask("Ask the gardener", "g")] },
    { text: "The **Conference** keeps until March." },
  ]);
  await llm.script("g", [{ text: "He says so." }]);
  await llm.script("apples", [{ text: "Boskoop." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const items = byId(page, "thread-item");
  const menu = async (name, entry) => {
    const item = items.filter({ hasText: name });
    await item.hover();
    await byId(item, "thread-menu").click();
    await byId(page, entry).click();
  };

  await check("a search finds chats by their words", async () => {
    await send(page, llm.says("Which pears keep?", "pears"));
    await settled(page);
    await byId(page, "new-chat").click();
    await send(page, llm.says("And apples?", "apples"));
    await settled(page);
    await byId(page, "search").fill("conference");
    // The index gets a turn after its end. Typing again repeats the search.
    const found = items.filter({ hasText: "keeps until March" });
    for (let tries = 0; (await found.count()) === 0 && tries < 40; tries += 1) {
      await byId(page, "search").fill(tries % 2 ? "conference" : "conference ");
      await found.waitFor({ timeout: 500 }).catch(() => {});
    }
    assertEqual(await items.count(), 1, "the found chats");
    assert((await items.innerText()).includes("Which pears keep?"), await items.innerText());
    await byId(page, "search").fill("nobody said this");
    await page.getByText("No matching chats.").waitFor();
    await page.keyboard.press("Escape");
    await items.nth(1).waitFor();
  });

  await check("a chat can be renamed, and keeps the name", async () => {
    await menu("And apples?", "thread-rename");
    await byId(page, "thread-name").fill("Winter fruit");
    await page.keyboard.press("Enter");
    await items.filter({ hasText: "Winter fruit" }).waitFor();
    await page.locator(".top-title", { hasText: "Winter fruit" }).waitFor();
    await page.reload();
    await items.filter({ hasText: "Winter fruit" }).waitFor();
  });

  const saved = async (entry) => {
    const [download] = await Promise.all([page.waitForEvent("download"), menu("Which pears keep?", entry)]);
    return [download.suggestedFilename(), await readFile(await download.path(), "utf8")];
  };
  await check("a chat is saved as Markdown and as JSON", async () => {
    const [name, text] = await saved("thread-markdown");
    assert(/^which-pears-keep.*\.md$/.test(name), name);
    for (const part of ["## You", "Which pears keep?", "- Ask the gardener: He says so.", "The **Conference** keeps until March."]) {
      assert(text.includes(part), `${part} is not in\n${text}`);
    }
    const [file, json] = await saved("thread-json");
    const { thread, messages } = JSON.parse(json);
    assert(file.endsWith(".json") && thread.id && messages.length === 2, json);
    assertEqual(messages[1].execution_tree.nodes.length, 1, "its nodes");
    assert(!("pinned_at" in thread), json);
    await Promise.all([page.waitForResponse((answer) => answer.request().method() === "PATCH"), menu("Which pears keep?", "thread-pin")]);
    assert(JSON.parse((await saved("thread-json"))[1]).thread.pinned_at > 0, "a saved pin");
  });
  await quiet("finding chats", notes);
  await context.close();
}
