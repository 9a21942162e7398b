// The page as a newcomer meets it: without configuration, with the demo model and the examples of the first screen.

import { gzipSync } from "node:zlib";
import { assert, assertEqual, byId, cards, check, env, openAll, quiet, say, send, settled, shot, toggle, visit } from "../harness.mjs";

const DIVISIBLE = "Research apples, pears and figs, then compare them";

// Long: one visit, whose checks follow each other.
export async function demo(browser) {
  const base = env("ESPALIER_DEMO_URL");
  const { page, context, notes } = await visit(browser, base);
  await shot(page, "empty");

  // Issue 53: the figures of the first load.
  await check("the first load needs little JavaScript and few styles, all from this origin", async () => {
    const names = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name));
    for (const [kind, most] of [["js", 112], ["css", 10]]) {
      const files = names.filter((name) => new URL(name).pathname.endsWith(`.${kind}`));
      const sizes = await Promise.all(files.map(async (name) => gzipSync(Buffer.from(await (await fetch(name)).arrayBuffer()), { level: 9 }).length));
      const sum = sizes.reduce((all, size) => all + size, 0);
      say(`     ${sum} bytes of gzipped ${kind} in ${sizes.length} files`);
      assert(sizes.length > 0 && sum <= most * 1024, `${sum} bytes of ${kind}`);
    }
  });

  // N-003 N-220
  await check("there is one composer, without a choice of modes or tools", async () => {
    assertEqual(await byId(page, "composer").count(), 1, "composers");
    const choosers = "select, input[type=radio], input[type=checkbox], [role=combobox], [role=listbox], [role=switch], [role=tab], [role=radiogroup], [role=menu]";
    assertEqual(await page.locator(choosers).count(), 0, "controls that choose something");
  });

  await check("a question typed and sent with Enter is answered, with its tool call", async () => {
    await send(page, "What is 17 * 23?");
    await byId(page, "message-user").filter({ hasText: "17 * 23" }).waitFor();
    await settled(page);
    const [card] = await cards(page);
    assertEqual([card.name, card.depth, card.status], ["calculate", 0, "done"], "the card");
    const answer = await byId(page, "message-assistant").last().innerText();
    assert(answer.includes("391"), answer);
  });

  // Issue 23, 9
  await check("a model names the new chat, and the list shows it without a reload", async () => {
    await byId(page, "thread-item").filter({ hasText: "Demo: What is 17 * 23?" }).waitFor();
  });

  await check("a card opens and shows arguments and result", async () => {
    const [card] = await cards(page);
    assert(!card.open, "a plain call starts folded");
    await toggle(page, card.id).click();
    const text = await byId(page, "tool-card").innerText();
    assert(text.includes("17 * 23") && text.includes("391"), text);
  });

  // N-014 N-222
  await check("subtasks are shown as nested cards", async () => {
    await byId(page, "new-chat").click();
    await send(page, DIVISIBLE);
    await settled(page);
    const all = await cards(page);
    const subtasks = all.filter((card) => card.name === "run_subtask" && card.depth === 0);
    assert(subtasks.length >= 3, JSON.stringify(all));
    assert(all.every((card) => card.status === "done"), JSON.stringify(all));
  });
  await shot(page, "subtasks");

  // N-121 N-128 N-133
  await check("a reload shows the same tree, from the stored message", async () => {
    await openAll(page);
    const live = await cards(page);
    const answer = await byId(page, "message-assistant").last().locator(".answer-footer").innerText();
    await page.reload();
    await settled(page);
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after the reload");
    assertEqual(await byId(page, "message-assistant").last().locator(".answer-footer").innerText(), answer, "the footer");
  });

  // Issue 19, items 2 and 14.
  await check("an answer that is made again is another one, and the picker leads from one to the other", async () => {
    await byId(page, "new-chat").click();
    await send(page, "What is an espalier?");
    await settled(page);
    const answer = byId(page, "message-assistant").last();
    await answer.filter({ hasText: "trained to grow flat" }).waitFor();
    await answer.getByTestId("again").click();
    await settled(page);
    await answer.filter({ hasText: "This is version 2." }).waitFor();
    await page.getByRole("button", { name: "Previous version" }).click();
    await answer.filter({ hasText: "trained to grow flat" }).waitFor();
    await page.getByRole("button", { name: "Next version" }).click();
    await answer.filter({ hasText: "as flat as a picture" }).waitFor();
  });

  await check("an example leaves the text in the composer of a new chat", async () => {
    await byId(page, "new-chat").click();
    await byId(page, "composer").fill("Half a question");
    await page.locator(".example").first().click();
    await settled(page);
    await byId(page, "new-chat").click();
    assertEqual(await byId(page, "composer").inputValue(), "Half a question", "the draft");
    await byId(page, "composer").fill("");
  });

  // N-006 N-110
  await check("the requests carry no mode and no tools", async () => {
    assert(notes.chats.length >= 2, "no chats were seen");
    for (const body of notes.chats) {
      for (const member of ["agent_mode", "tools", "mode"]) assert(!(member in body), JSON.stringify(body));
    }
  });
  await quiet("the demo instance", notes);
  await context.close();
}

/** Issue 19, items 3 and 14: a chat with much text that nobody needs to type. */
export async function grown(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"));
  await page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    return route.continue({ postData: JSON.stringify({ ...body, content: `${body.content} ${"and so on ".repeat(9_500)}` }) });
  });
  await check("the demo model summarises a long chat, and the note opens and shows it", async () => {
    const note = page.getByRole("button", { name: "Earlier messages were summarised" });
    for (let turn = 1; turn < 10 && (await note.count()) === 0; turn += 1) {
      await send(page, `What is ${turn} + 1?`);
      await byId(page, "cost-summary").nth(turn - 1).waitFor();
      await settled(page);
    }
    await note.click();
    const answer = await byId(page, "message-assistant").last().innerText();
    assert(answer.includes("The user asked, in this order:") && answer.includes("What is 1 + 1?"), answer);
  });
  await quiet("a long chat with the demo model", notes);
  await context.close();
}

/** The same page on a phone, in the dark. */
export async function narrow(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"), {
    viewport: { width: 390, height: 844 },
    colorScheme: "dark",
  });
  await check("on a phone nothing is wider than the screen", async () => {
    await send(page, DIVISIBLE);
    await settled(page);
    await openAll(page);
    for (const width of [390, 360]) {
      await page.setViewportSize({ width, height: 780 });
      const drawn = await page.evaluate(() => document.documentElement.scrollWidth);
      assert(drawn <= width, `the page is ${drawn} of ${width} pixels wide`);
    }
    await shot(page, "phone");
  });
  await quiet("the phone", notes);
  await context.close();
}
